idf_component_register(SRCS "hello.c")
