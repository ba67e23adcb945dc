"""What is given, not computed: log-probs, rewards, and the parameters a recipe sets."""

from grpo_calc.column import quantity

quantity("logp_new", "log π", latex=r"\log\pi_\theta", en="log-prob, new policy", zh="新策略对数概率")
quantity("logp_old", "log π_old", latex=r"\log\pi_{\text{old}}", en="log-prob, old policy", zh="旧策略对数概率")
quantity("logp_ref", "log π_ref", latex=r"\log\pi_{\text{ref}}", en="log-prob, reference policy", zh="参考策略对数概率")
quantity("logp_sampler", "log π_sam", latex=r"\log\pi_{\text{sampler}}", en="log-prob, sampler", zh="采样引擎对数概率")
quantity("logp_base", "log π_base", latex=r"\log\pi_{\text{base}}", en="log-prob, KL base", zh="KL 基准对数概率")
quantity("mask", "m", en="mask (1: the token counts)", zh="掩码（1 表示计入）")
quantity("positions", "T_i", latex="T_i", en="positions of a completion", zh="回答的位置数")
quantity("reward", "R", en="reward", zh="奖励")
quantity("advantage_given", "A", latex="A", en="advantage (given)", zh="优势（给定）")

quantity("eps_low", "eps_low", latex=r"\varepsilon_{\text{low}}", en="clip range below 1", zh="裁剪下界幅度")
quantity("eps_high", "eps_high", latex=r"\varepsilon_{\text{high}}", en="clip range above 1", zh="裁剪上界幅度")
quantity("beta", "beta", latex=r"\beta", en="KL coefficient", zh="KL 系数")
quantity("adv_eps", "adv_eps", latex=r"\varepsilon_{A}", en="small number beside the std", zh="标准差分母中的平滑项")
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
quantity(
    "kl_weight_cap", "w_max", latex=r"w_{\max}", en="cap of the importance weight in the KL", zh="KL 内重要性权重上限"
)
quantity(
    "old_beta",
    "β_old",
    latex=r"\beta_{\text{old}}",
    en="coefficient of the KL against the old policy",
    zh="对旧策略 KL 的系数",
)
quantity("length_eps", "ε_n", latex=r"\varepsilon_n", en="small number beside a count", zh="计数分母中的平滑项")
quantity("drift_limit", "δ_r", latex=r"\delta_r", en="limit of half the squared log-ratio", zh="对数比平方之半的上限")
quantity("dropped", "d", en="dropped by a filter (0/1)", zh="被过滤剔除（0/1）")
quantity("kl_clamp_out", "K_out", latex=r"K_{\text{out}}", en="clamp of the KL's value", zh="KL 值的钳制")
quantity("sampler_floor", "C_low", latex=r"C_{\text{low}}", en="floor of the sampler correction", zh="采样修正下限")
quantity("off_policy_limit", "δ_off", latex=r"\delta_{\text{off}}", en="limit of the mean drift", zh="平均偏离上限")
quantity("top_entropy", "q", en="share of the most uncertain tokens", zh="最不确定 token 的比例")
quantity("entropy_coef", "c_H", latex=r"c_{\mathcal{H}}", en="coefficient of the entropy bonus", zh="熵奖励系数")
quantity(
    "entropy_steps", "n_H", latex=r"n_{\mathcal{H}}", en="steps the entropy bonus is divided by", zh="熵奖励除以的步数"
)
quantity("accumulated_steps", "n_acc", latex=r"n_{\text{acc}}", en="accumulated steps", zh="梯度累积步数")
quantity("reward_low", "R_low", latex=r"R_{\text{low}}", en="least reward", zh="奖励下限")
quantity("reward_high", "R_high", latex=r"R_{\text{high}}", en="greatest reward", zh="奖励上限")
quantity("vespo_k_pos", "k+", latex="k_+", en="VESPO shape, A >= 0", zh="VESPO 形状（A >= 0）")
quantity("vespo_lambda_pos", "λ+", latex=r"\lambda_+", en="VESPO rate, A >= 0", zh="VESPO 速率（A >= 0）")
quantity("vespo_k_neg", "k-", latex="k_-", en="VESPO shape, A < 0", zh="VESPO 形状（A < 0）")
quantity("vespo_lambda_neg", "λ-", latex=r"\lambda_-", en="VESPO rate, A < 0", zh="VESPO 速率（A < 0）")
quantity("dro_beta", "β_dro", latex=r"\beta_{\text{dro}}", en="coefficient of DRO's penalty", zh="DRO 惩罚系数")
quantity("log_ratio_cap", "K_s", en="cap of log s", zh="log s 的上限")
quantity("reward_beta", "β_R", latex=r"\beta_R", en="KL coefficient in the reward", zh="奖励中的 KL 系数")
quantity("objective_factor", "τ_A", latex=r"\tau_A", en="factor of the objective", zh="目标的系数")
quantity("reward_shift", "b_R", latex="b_R", en="constant added to the reward", zh="奖励的加性常数")
quantity("reward_scale", "s_R", latex="s_R", en="factor of the reward", zh="奖励的缩放系数")
