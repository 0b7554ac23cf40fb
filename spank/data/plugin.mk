$(eval $(call plugin,data,adminkit_data,,stage_main store room source job_folder leave mounts digest index))
$(eval $(call program,data,adminkit-stage,stage_main store room source job_folder leave mounts digest index cache state record request,-ldl))
