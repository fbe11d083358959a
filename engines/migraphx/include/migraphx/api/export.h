/* What marks functions of the library as its interface. Its build generates this header, and Debian's package
 * lacks it. */
#ifndef MIGRAPHX_C_EXPORT
#define MIGRAPHX_C_EXPORT
#endif
