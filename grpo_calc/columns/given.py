"""What is given, not computed: log-probs, rewards, and the parameters a recipe sets."""

from grpo_calc.column import quantity

quantity("logp_new", "log π", latex=r"\log\pi_\theta", en="log-prob, new policy", zh="新策略对数概率")
quantity("logp_old", "log π_old", latex=r"\log\pi_{\text{old}}", en="log-prob, old policy", zh="旧策略对数概率")
quantity("logp_ref", "log π_ref", latex=r"\log\pi_{\text{ref}}", en="log-prob, reference policy", zh="参考策略对数概率")
quantity("logp_sampler", "log π_sam", latex=r"\log\pi_{\text{sampler}}", en="log-prob, sampler", zh="采样引擎对数概率")
quantity("logp_base", "log π_base", latex=r"\log\pi_{\text{base}}", en="log-prob, KL base", zh="KL 基准对数概率")
quantity("reward", "R", en="reward", zh="奖励")
quantity("advantage_given", "A", latex="A", en="advantage (given)", zh="优势（给定）")

quantity("eps_low", "eps_low", latex=r"\varepsilon_{\text{low}}", en="clip range below 1", zh="裁剪下界幅度")
quantity("eps_high", "eps_high", latex=r"\varepsilon_{\text{high}}", en="clip range above 1", zh="裁剪上界幅度")
quantity("beta", "beta", latex=r"\beta", en="KL coefficient", zh="KL 系数")
quantity("adv_eps", "adv_eps", latex=r"\varepsilon_{A}", en="small number beside the std", zh="标准差旁的小量")
quantity("ddof", "ddof", latex=r"\text{ddof}", en="std divisor is n - ddof", zh="标准差的除数为 n - ddof")
quantity("tie_tol", "tie_tol", latex=r"\tau_{\text{tie}}", en="tie tolerance of the clip flag", zh="裁剪标记的相等容差")
quantity("max_length", "L", en="constant length", zh="常数长度")
quantity("divisor", "D", en="given divisor", zh="给定除数")
quantity("dual_clip", "c", en="dual-clip bound", zh="双重裁剪常数")
quantity("delta", "δ", latex=r"\delta", en="upper bound of the ratio", zh="概率比上界")
quantity("ratio_cap", "cap", latex=r"\text{cap}", en="absolute cap of the weight", zh="权重的绝对上限")
quantity("tau_pos", "τ+", latex=r"\tau_+", en="SAPO temperature, A > 0", zh="SAPO 温度（A > 0）")
quantity("tau_neg", "τ-", latex=r"\tau_-", en="SAPO temperature, A <= 0", zh="SAPO 温度（A <= 0）")
quantity("sampler_cap", "C", en="cap of the sampler correction", zh="采样修正上限")
quantity("log_ratio_clamp", "K", en="clamp of the log-ratio", zh="对数比钳制")
quantity("kl_clamp_in", "K_in", latex=r"K_{\text{in}}", en="clamp of k1 inside the KL", zh="KL 内 k1 的钳制")
quantity("kl_clamp_out", "K_out", latex=r"K_{\text{out}}", en="clamp of the KL's value", zh="KL 值的钳制")
