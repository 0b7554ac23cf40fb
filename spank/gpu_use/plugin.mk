$(eval $(call plugin,gpu_use,adminkit_gpu_use,,sampler_main))
$(eval $(call program,gpu_use,adminkit-gpu-use,sampler_main nvml sums,-ldl))
