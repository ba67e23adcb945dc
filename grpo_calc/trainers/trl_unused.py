"""Options of TRL's configuration that do not enter the loss of a given batch: sampling, logging, optimiser, engine."""

UNUSED = tuple(
    """
    learning_rate per_device_train_batch_size per_device_eval_batch_size num_train_epochs max_steps warmup_steps
    warmup_ratio lr_scheduler_type lr_scheduler_kwargs weight_decay max_grad_norm optim seed output_dir bf16
    fp16 gradient_checkpointing logging_steps save_steps report_to run_name model_init_kwargs trust_remote_code
    router_aux_loss_coef disable_dropout cast_lm_head_to_fp32 remove_unused_columns num_generations
    num_generations_eval ds3_gather_for_generation shuffle_dataset pad_to_multiple_of generation_batch_size
    temperature top_p top_k min_p generation_kwargs chat_template_kwargs repetition_penalty cache_implementation
    max_prompt_length vllm_mode vllm_model_impl vllm_enable_sleep_mode vllm_structured_outputs_regex
    vllm_guided_decoding_regex vllm_server_base_url vllm_server_host vllm_server_port vllm_server_timeout
    vllm_group_port vllm_gpu_memory_utilization vllm_max_model_length vllm_max_model_len vllm_device vllm_dtype
    vllm_enable_prefix_caching vllm_tensor_parallel_size sync_ref_model ref_model_mixup_alpha
    ref_model_sync_steps use_adaptive_entropy entropy_coef_min entropy_coef_max entropy_coef_delta
    entropy_target max_tool_calling_iterations use_liger_loss use_liger_kernel log_completions log_multimodal
    num_completions_to_print log_unique_prompts wandb_log_unique_prompts log_completions_hub_repo
    use_transformers_continuous_batching transformers_continuous_batching_config use_transformers_paged
    """.split()  # noqa: SIM905  (a list to read)
)
