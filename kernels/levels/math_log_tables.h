/* SPDX-License-Identifier: MIT */
/*
 * The numbers of the logarithms in kernels/levels/math.inc and of kernels/levels/math_pow.inc.
 *
 * PTO_LOG_PIECES, PTO_LOG2_PIECES: pieces as those of kernels/levels/math_tables.h, by the upper bits of the mantissa
 * of x, ¾ ≤ x < 1½, where the others have |x| + c: log x, at a point where it is a multiple of 2^-16; the pieces about
 * 1 have the point 1. Of the points with the best values, the one that gives the least error of all x in the piece.
 * Within 2^-26.
 *
 * PTO_POW_PIECES: for 32 pieces of m from 0.6953125 to 1.390625, by the upper bits of its mantissa: c near 1 / m, a
 * multiple of 2^-5 where m is below 1 and else of 2^-6, so that 1 − m · c is exact, and −log c as a multiple of 2^-16
 * and what is left.
 *
 * Constants.
 */
#ifndef PTO_KERNELS_LEVELS_MATH_LOG_TABLES_H
#define PTO_KERNELS_LEVELS_MATH_LOG_TABLES_H

/* clang-format off */
#define PTO_LOG_PIECES(X)                                                                                              \
  X(0x1p0f, 0.0f, 0x1p0f, -0x1.fffff4p-2f, 0x1.553996p-2f, -0x1.ed58fap-3f, 0.0f)                                      \
  X(0x1p0f, 0.0f, 0x1p0f, -0x1.fffb96p-2f, 0x1.54260cp-2f, -0x1.caaae4p-3f, 0.0f)                                      \
  X(0x1.140f44p0f, 0x1.35p-4f, 0x1.dacbc4p-1f, -0x1.b84b9ap-2f, 0x1.103c42p-2f, -0x1.7af29cp-3f, 0.0f)                 \
  X(0x1.1b8d5ap0f, 0x1.a2bp-4f, 0x1.ce4004p-1f, -0x1.a15596p-2f, 0x1.f66eaep-3f, -0x1.5280b2p-3f, 0.0f)                \
  X(0x1.246d98p0f, 0x1.1078p-3f, 0x1.c03836p-1f, -0x1.88626p-2f, 0x1.ca0ddap-3f, -0x1.2e2a28p-3f, 0.0f)                \
  X(0x1.2c2faap0f, 0x1.4618p-3f, 0x1.b4a2bcp-1f, -0x1.745d5ap-2f, 0x1.a77336p-3f, -0x1.0f61bep-3f, 0.0f)               \
  X(0x1.333d4p0f, 0x1.75a8p-3f, 0x1.aa9cb6p-1f, -0x1.6376fep-2f, 0x1.8af11p-3f, -0x1.e9bd3cp-4f, 0.0f)                 \
  X(0x1.3c3818p0f, 0x1.b0a8p-3f, 0x1.9e7f56p-1f, -0x1.4f900ap-2f, 0x1.6a3f52p-3f, -0x1.b8e068p-4f, 0.0f)               \
  X(0x1.43e926p0f, 0x1.e1ep-3f, 0x1.94a79ap-1f, -0x1.3fd0b6p-2f, 0x1.510c5ep-3f, -0x1.8f3a0cp-4f, 0.0f)                \
  X(0x1.4ad6cap0f, 0x1.069cp-2f, 0x1.8c2e3cp-1f, -0x1.328f9p-2f, 0x1.3c4c6ep-3f, -0x1.6b0cc6p-4f, 0.0f)                \
  X(0x1.5494d6p0f, 0x1.2454p-2f, 0x1.80d90ap-1f, -0x1.2145e8p-2f, 0x1.21eecap-3f, -0x1.48b16ep-4f, 0.0f)               \
  X(0x1.5b6d0cp0f, 0x1.38b4p-2f, 0x1.794418p-1f, -0x1.15fcd4p-2f, 0x1.1121b2p-3f, -0x1.2c4cacp-4f, 0.0f)               \
  X(0x1.627916p0f, 0x1.4d44p-2f, 0x1.71c40ep-1f, -0x1.0b0b68p-2f, 0x1.0125eep-3f, -0x1.12c862p-4f, 0.0f)               \
  X(0x1.6bf472p0f, 0x1.684cp-2f, 0x1.6821fp-1f, -0x1.fa9f78p-3f, 0x1.db2b14p-4f, -0x1.f524cep-5f, 0.0f)                \
  X(0x1.72431cp0f, 0x1.79e4p-2f, 0x1.61ff72p-1f, -0x1.e98282p-3f, 0x1.c3428ep-4f, -0x1.cd14eep-5f, 0.0f)               \
  X(0x1.7cc99ep0f, 0x1.9698p-2f, 0x1.583682p-1f, -0x1.ced284p-3f, 0x1.9ee3b6p-4f, -0x1.a52e2ap-5f, 0.0f)               \
  X(0x1.82fdc4p-1f, -0x1.1ea4p-2f, 0x1.52b1eap0f, -0x1.c01a5p-1f, 0x1.8b4016p-1f, -0x1.84f42ap-1f, 0.0f)               \
  X(0x1.8d70a4p-1f, -0x1.035cp-2f, 0x1.49ca68p0f, -0x1.a8d9dap-1f, 0x1.6ce132p-1f, -0x1.64adcp-1f, 0.0f)               \
  X(0x1.94d24ap-1f, -0x1.e108p-3f, 0x1.43c6fep0f, -0x1.997fbcp-1f, 0x1.594aep-1f, -0x1.49acfap-1f, 0.0f)               \
  X(0x1.9df0f2p-1f, -0x1.b368p-3f, 0x1.3ca4dep0f, -0x1.87a76ap-1f, 0x1.42f2a4p-1f, -0x1.30279cp-1f, 0.0f)              \
  X(0x1.a2bb2cp-1f, -0x1.9bd8p-3f, 0x1.390598p0f, -0x1.7ebeb4p-1f, 0x1.380168p-1f, -0x1.1b6168p-1f, 0.0f)              \
  X(0x1.aa97b6p-1f, -0x1.75cp-3f, 0x1.3340dap0f, -0x1.70c49ep-1f, 0x1.2711d2p-1f, -0x1.06d5e8p-1f, 0.0f)               \
  X(0x1.b2f40cp-1f, -0x1.4ep-3f, 0x1.2d58e8p0f, -0x1.62ba34p-1f, 0x1.166232p-1f, -0x1.e7ca52p-2f, 0.0f)                \
  X(0x1.ba620ap-1f, -0x1.2b5p-3f, 0x1.28494ap0f, -0x1.56e992p-1f, 0x1.08958ep-1f, -0x1.c60624p-2f, 0.0f)               \
  X(0x1.c54656p-1f, -0x1.f3p-4f, 0x1.212ab2p0f, -0x1.46a16ap-1f, 0x1.ebf094p-2f, -0x1.a48aeep-2f, 0.0f)                \
  X(0x1.ca8fd4p-1f, -0x1.c38p-4f, 0x1.1dd53p0f, -0x1.3f2464p-1f, 0x1.db1d9ep-2f, -0x1.89e936p-2f, 0.0f)                \
  X(0x1.d4b2f8p-1f, -0x1.69fp-4f, 0x1.17a69p0f, -0x1.317c78p-1f, 0x1.bcf5f8p-2f, -0x1.6e4d3ap-2f, 0.0f)                \
  X(0x1.dc87d8p-1f, -0x1.261p-4f, 0x1.130e02p0f, -0x1.278718p-1f, 0x1.a761d4p-2f, -0x1.5664b2p-2f, 0.0f)               \
  X(0x1.e476a6p-1f, -0x1.c4ep-5f, 0x1.0e8d04p0f, -0x1.1dedc2p-1f, 0x1.92ec3cp-2f, -0x1.4059c2p-2f, 0.0f)               \
  X(0x1.ebfebcp-1f, -0x1.468p-5f, 0x1.0a68cp0f, -0x1.153ddap-1f, 0x1.80b384p-2f, -0x1.2c3fd4p-2f, 0.0f)                \
  X(0x1p0f, 0.0f, 0x1p0f, -0x1.000054p-1f, 0x1.54fccp-2f, -0x1.0efd96p-2f, 0.0f)                                       \
  X(0x1p0f, 0.0f, 0x1p0f, -0x1p-1f, 0x1.554dfep-2f, -0x1.04df0cp-2f, 0.0f)

#define PTO_LOG2_PIECES(X)                                                                                            \
  X(0x1p0f, 0.0f, -0x1.7136c2p-13f, -0x1.71543p-1f, 0x1.ec1876p-2f, -0x1.5f811cp-2f, 0.0f)                            \
  X(0x1p0f, 0.0f, -0x1.73714cp-13f, -0x1.7147b8p-1f, 0x1.e91356p-2f, -0x1.3efb88p-2f, 0.0f)                           \
  X(0x1.13f19cp0f, 0x1.bb5p-4f, -0x1.abd02cp-4f, -0x1.3ddfb2p-1f, 0x1.893d48p-2f, -0x1.0838aep-2f, 0.0f)              \
  X(0x1.1c6bdep0f, 0x1.371p-3f, -0x1.279bdap-3f, -0x1.2b3768p-1f, 0x1.67bbep-2f, -0x1.2b7618p-3f, 0.0f)               \
  X(0x1.246a8ap0f, 0x1.88f8p-3f, -0x1.70515cp-3f, -0x1.1b118cp-1f, 0x1.4a7558p-2f, -0x1.b37718p-3f, 0.0f)             \
  X(0x1.2ba1f2p0f, 0x1.d1p-3f, -0x1.ae9dc2p-3f, -0x1.0d96aap-1f, 0x1.339c3p-2f, -0x1.14442p-2f, 0.0f)                 \
  X(0x1.345356p0f, 0x1.12cp-2f, -0x1.f5c9e2p-3f, -0x1.fd36d2p-2f, 0x1.19c4eep-2f, -0x1.9197e6p-3f, 0.0f)              \
  X(0x1.3bcde6p0f, 0x1.3628p-2f, -0x1.17f13cp-2f, -0x1.e56498p-2f, 0x1.0643fep-2f, -0x1.0f6288p-3f, 0.0f)             \
  X(0x1.446c7ep0f, 0x1.5dfp-2f, -0x1.37c284p-2f, -0x1.cbefb4p-2f, 0x1.e3e048p-3f, -0x1.2b099cp-3f, 0.0f)              \
  X(0x1.4bf1fep0f, 0x1.7fccp-2f, -0x1.522c94p-2f, -0x1.b74ee2p-2f, 0x1.c3f3d6p-3f, -0x1.bd64aap-3f, 0.0f)             \
  X(0x1.539afp0f, 0x1.a18p-2f, -0x1.6bdf44p-2f, -0x1.a3bc1p-2f, 0x1.a5f49p-3f, -0x1.ebd13ap-4f, 0.0f)                 \
  X(0x1.5c18bep0f, 0x1.c5fcp-2f, -0x1.8709aep-2f, -0x1.8f810ep-2f, 0x1.87bc7ep-3f, -0x1.e53d08p-4f, 0.0f)             \
  X(0x1.63dcaap0f, 0x1.e694p-2f, -0x1.9ebee4p-2f, -0x1.7e45bcp-2f, 0x1.6e8036p-3f, -0x1.c40ee8p-5f, 0.0f)             \
  X(0x1.6bba38p0f, 0x1.037p-1f, -0x1.b5ba2ep-2f, -0x1.6dead8p-2f, 0x1.57154ap-3f, -0x1.a5d3d6p-5f, 0.0f)              \
  X(0x1.744b42p0f, 0x1.14a2p-1f, -0x1.cda716p-2f, -0x1.5d461ap-2f, 0x1.40aa8ap-3f, -0x1.2251f6p-5f, 0.0f)             \
  X(0x1.7c270cp0f, 0x1.241p-1f, -0x1.e2a7p-2f, -0x1.4ef816p-2f, 0x1.2cb9fap-3f, -0x1.6274c8p-4f, 0.0f)                \
  X(0x1.840238p-1f, -0x1.99a8p-2f, 0x1.d7e8c6p-2f, -0x1.418cfcp0f, 0x1.1ae3aap0f, -0x1.6fba9p-1f, 0.0f)               \
  X(0x1.8bd048p-1f, -0x1.7c3cp-2f, 0x1.b1782cp-2f, -0x1.34fa98p0f, 0x1.0ab84ep0f, -0x1.a9ff04p0f, 0.0f)               \
  X(0x1.943734p-1f, -0x1.5d34p-2f, 0x1.89bf8p-2f, -0x1.284334p0f, 0x1.f3943ap-1f, -0x1.e24f2p0f, 0.0f)                \
  X(0x1.9c714ap-1f, -0x1.3f7p-2f, 0x1.646c2ap-2f, -0x1.1c96ecp0f, 0x1.d8c392p-1f, 0x1.c10544p-4f, 0.0f)               \
  X(0x1.a4657ep-1f, -0x1.2338p-2f, 0x1.41b98cp-2f, -0x1.11e6eep0f, 0x1.bc1106p-1f, -0x1.44669p0f, 0.0f)               \
  X(0x1.ac44a6p-1f, -0x1.07dp-2f, 0x1.20a788p-2f, -0x1.07eda4p0f, 0x1.a47048p-1f, -0x1.03932p0f, 0.0f)                \
  X(0x1.b3962p-1f, -0x1.dd9p-3f, 0x1.02fb36p-2f, -0x1.fe443cp-1f, 0x1.90751ep-1f, -0x1.08f524p0f, 0.0f)               \
  X(0x1.bc38b6p-1f, -0x1.a39p-3f, 0x1.c273ep-3f, -0x1.eaa692p-1f, 0x1.79929ap-1f, -0x1.352bf6p-8f, 0.0f)              \
  X(0x1.c40ab6p-1f, -0x1.7p-3f, 0x1.8789d8p-3f, -0x1.d9cd5ap-1f, 0x1.65c7cep-1f, -0x1.3272b4p-1f, 0.0f)               \
  X(0x1.cbfc38p-1f, -0x1.3c88p-3f, 0x1.4dbf6ep-3f, -0x1.c994f6p-1f, 0x1.538f3p-1f, -0x1.ec37cp-2f, 0.0f)              \
  X(0x1.d384dep-1f, -0x1.0c88p-3f, 0x1.18c068p-3f, -0x1.baf33ep-1f, 0x1.437b22p-1f, -0x1.1bcdecp-1f, 0.0f)            \
  X(0x1.db9faap-1f, -0x1.b38p-4f, 0x1.c33a6p-4f, -0x1.abf922p-1f, 0x1.33b46ep-1f, -0x1.b1c234p-1f, 0.0f)              \
  X(0x1.e45af4p-1f, -0x1.48p-4f, 0x1.508d8ap-4f, -0x1.9cac1ap-1f, 0x1.21e34cp-1f, -0x1.1f88cap0f, 0.0f)               \
  X(0x1.ec5472p-1f, -0x1.cfp-5f, 0x1.d6bf14p-5f, -0x1.8f7016p-1f, 0x1.1539ep-1f, -0x1.a1515cp-3f, 0.0f)               \
  X(0x1p0f, 0.0f, -0x1.7162b4p-13f, -0x1.715672p-1f, 0x1.eb6b1ep-2f, -0x1.8e749ep-2f, 0.0f)                           \
  X(0x1p0f, 0.0f, -0x1.7135bcp-13f, -0x1.71548p-1f, 0x1.ec58fcp-2f, -0x1.7abb2cp-2f, 0.0f)

#define PTO_POW_PIECES(X)                                                                                             \
  X(0x1.7p0f, -0x1.739cp-2f, -0x1.7f6bbep-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                \
  X(0x1.68p0f, -0x1.5d1cp-2f, 0x1.2053fcp-21f, 0.0f, 0.0f, 0.0f, 0.0f)                                                \
  X(0x1.6p0f, -0x1.4618p-2f, -0x1.78438cp-19f, 0.0f, 0.0f, 0.0f, 0.0f)                                                \
  X(0x1.58p0f, -0x1.2e9p-2f, 0x1.d451eep-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1.5p0f, -0x1.1674p-2f, -0x1.cababap-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                \
  X(0x1.48p0f, -0x1.fb9p-3f, -0x1.86d5e4p-19f, 0.0f, 0.0f, 0.0f, 0.0f)                                                \
  X(0x1.4p0f, -0x1.c9p-3f, 0x1.070cacp-20f, 0.0f, 0.0f, 0.0f, 0.0f)                                                   \
  X(0x1.38p0f, -0x1.9528p-3f, 0x1.2b185ep-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                \
  X(0x1.38p0f, -0x1.9528p-3f, 0x1.2b185ep-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                \
  X(0x1.3p0f, -0x1.5ffp-3f, -0x1.83853cp-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1.28p0f, -0x1.2958p-3f, 0x1.683fp-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                  \
  X(0x1.28p0f, -0x1.2958p-3f, 0x1.683fp-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                  \
  X(0x1.2p0f, -0x1.e27p-4f, -0x1.db8abcp-22f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1.18p0f, -0x1.6f1p-4f, 0x1.6ba8d4p-19f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1.18p0f, -0x1.6f1p-4f, 0x1.6ba8d4p-19f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1.1p0f, -0x1.f0ap-5f, -0x1.86008cp-20f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1.1p0f, -0x1.f0ap-5f, -0x1.86008cp-20f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1.08p0f, -0x1.f84p-6f, 0x1.64f188p-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1.08p0f, -0x1.f84p-6f, 0x1.64f188p-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1p0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f)                                                                       \
  X(0x1.fp-1f, 0x1.042p-5f, -0x1.44ec32p-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1.ep-1f, 0x1.086p-4f, -0x1.9d2988p-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1.d8p-1f, 0x1.4d3p-4f, 0x1.15d208p-20f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1.c8p-1f, 0x1.da7p-4f, 0x1.3b1c22p-19f, 0.0f, 0.0f, 0.0f, 0.0f)                                                 \
  X(0x1.b8p-1f, 0x1.366p-3f, -0x1.a7f538p-22f, 0.0f, 0.0f, 0.0f, 0.0f)                                                \
  X(0x1.bp-1f, 0x1.5bf8p-3f, -0x1.fca55ep-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                \
  X(0x1.a8p-1f, 0x1.824p-3f, -0x1.f4d572p-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                \
  X(0x1.98p-1f, 0x1.d1p-3f, 0x1.bf932ap-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                  \
  X(0x1.9p-1f, 0x1.f99p-3f, 0x1.c6cb3cp-19f, 0.0f, 0.0f, 0.0f, 0.0f)                                                  \
  X(0x1.88p-1f, 0x1.1178p-2f, 0x1.d044fcp-19f, 0.0f, 0.0f, 0.0f, 0.0f)                                                \
  X(0x1.8p-1f, 0x1.2698p-2f, -0x1.deecb2p-18f, 0.0f, 0.0f, 0.0f, 0.0f)                                                \
  X(0x1.78p-1f, 0x1.3c24p-2f, 0x1.277334p-18f, 0.0f, 0.0f, 0.0f, 0.0f)
/* clang-format on */

#endif
