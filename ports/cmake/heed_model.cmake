# cmake -DSOURCE=heed's folder -DOUTPUT=folder -P heed_model.cmake: writes heed_model.h and heed_model.c, what programs of heed_compile need
# beside heed and heed_file, without the folders of the source.
cmake_minimum_required(VERSION 3.16)
include(${CMAKE_CURRENT_LIST_DIR}/inline.cmake)
inline_all(${SOURCE}/ports/compile/heed_model.h header)
get_property(in_header GLOBAL PROPERTY done)
write(heed_model.h "${header}")
set_property(GLOBAL PROPERTY done "${in_header}")  # which the source includes
inline_all(${SOURCE}/ports/compile/heed_model.c code)
write(heed_model.c "${code}")
