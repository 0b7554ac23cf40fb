$(eval $(call plugin,ckpt,adminkit_ckpt))
