/*
 * An image of one tile and a kernel on which F(6x6,3x3) in float32, with sums from left to right, errs by
 * 1002 u max|x| sum|w|: found by a genetic search of 150 s.
 */
#ifndef WINOGRAD_WORST_H
#define WINOGRAD_WORST_H

static const double winograd_worst_image[64] = {
    -0x1.772f58p-1, -0x1.6efd42p-1, -0x1.94ac9cp-1, -0x1.0a2d18p-1, 0x1.05cabcp-1,  -0x1.5615dp-1,
    -0x1.d63ffp-1,  0x1.12eb16p-1,  -0x1.dff48ep-1, 0x1.0bcb04p-1,  -0x1.a426fcp-1, 0x1.472498p-1,
    0x1.d24a6ap-1,  -0x1.1cae12p-1, -0x1.a990eep-1, 0x1.b44a14p-1,  -0x1.e6957ap-1, 0x1.068d0ap-1,
    -0x1.50ea9ap-1, 0x1.72526cp-1,  0x1.e6789ap-1,  0x1.ef11ecp-1,  -0x1.28d516p-1, 0x1.039428p-1,
    -0x1.f7da1cp-1, 0x1.fc0896p-1,  0x1.3a2f98p-1,  -0x1.e5794ap-1, -0x1.c76c88p-1, 0x1.4e7e9ep-1,
    0x1.793b8cp-1,  0x1.682c98p-1,  -0x1.dc94cep-1, -0x1.14ed14p-1, -0x1.cbd8aep-1, 0x1.e0c4acp-1,
    -0x1.4eaf6ap-1, -0x1.eed464p-1, 0x1.1c85a4p-1,  -0x1.dc835ep-1, 0x1.08639p-1,   -0x1.c8e96ep-1,
    -0x1.de33d8p-1, 0x1.a41644p-1,  0x1.8e286p-1,   -0x1.595c1ep-1, 0x1.c21546p-1,  0x1.8543cp-1,
    -0x1.dbda98p-1, 0x1.1a5ad4p-1,  -0x1.ce4c5ap-1, -0x1.c37b8ap-1, -0x1.a78512p-1, -0x1.b0967ep-1,
    0x1.64cf4cp-1,  -0x1.p+0,       -0x1.411418p-1, -0x1.cd8b0cp-1, 0x1.6f551ep-1,  -0x1.6e342p-1,
    -0x1.33f374p-1, 0x1.751fecp-1,  -0x1.20d68cp-1, 0x1.c26312p-1};
static const double winograd_worst_kernel[9] = {0x1.04dd12p-3, -0x1.0a3c1ap-4, 0x1.00064ap-3,
                                                0x1.e7ecfep-4, -0x1.847662p-3, -0x1.17d5d8p-4,
                                                0x1.f7f5e8p-1, 0x1.4b193ep-1,  0x1.c8579cp-2};

#endif
