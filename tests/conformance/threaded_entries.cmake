# The threaded entries are inline functions of the generated headers.
file(GLOB map_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernel_maps/*/*.json)
list(FILTER map_files EXCLUDE REGEX "/schema/")
set(entry_includes)
set(entry_rows)
foreach(file ${map_files})
  get_filename_component(id ${file} NAME_WE)
  string(APPEND entry_includes "#include \"writ/kernels/${id}.h\"\n")
  string(APPEND entry_rows "      {\"${id}_threaded\", [](const writ_step *step, uint32_t call, const void *args) {\n"
    "         ${id}_threaded(step, call, *static_cast<const ${id}_args *>(args)); }},\n")
endforeach()
configure_file(threaded_entries.cpp.in threaded_entries.cpp @ONLY)
