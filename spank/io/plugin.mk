$(eval $(call plugin,io,adminkit_io))
