/* SPDX-License-Identifier: MIT */
/*
 * The numbers of the logarithms in lanes_math.inc and of lanes_pow.inc.
 *
 * PTO_LOG_PIECES, PTO_LOG2_PIECES: pieces as those of lanes_tables.h, by the upper bits of the mantissa of x, ¾ ≤ x <
 * 1½, where the others have |x| + c: log x, at a point where it is a multiple of 2^-16; the pieces about 1 have the
 * point 1. Of the points with the best values, the one that gives the least error of all x in the piece.  Within 2^-26.
 *
 * PTO_POW_…: for the sixteen pieces of m from 0.69921875 to 1.3984375, by the upper bits of its mantissa, 1 / m in 21
 * bits and −16 times that number's log2; 2^(j/16).
 *
 * Constants.
 */
#ifndef PTO_LANES_LOG_TABLES_H
#define PTO_LANES_LOG_TABLES_H

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

#define PTO_POW_INVERSES                                                                                              \
  0x1.661ecp0, 0x1.571edp0, 0x1.4953ap0, 0x1.3c996p0,                                                                 \
  0x1.30d19p0, 0x1.25e22p0, 0x1.1bb4ap0, 0x1.12359p0,                                                                 \
  0x1.0953fp0, 0x1p0, 0x1.e573ap-1, 0x1.ca4b4p-1,                                                                     \
  0x1.b2036p-1, 0x1.9c2d2p-1, 0x1.886e6p-1, 0x1.767dcp-1

#define PTO_POW_LOGARITHMS                                                                                            \
  -0x1.efec4646ccef2p2, -0x1.b0b66f1450371p2, -0x1.7418b4db0f9e4p2, -0x1.39dea8c5f4464p2,                             \
  -0x1.01d9bb7350ffbp2, -0x1.97c184629c6dbp1, -0x1.2f9e08ff2e29dp1, -0x1.960cd0c952063p0,                             \
  -0x1.a6f924c591496p-1, 0.0, 0x1.3aa396bf7a15p0, 0x1.476a3a9b28d4p1,                                                 \
  0x1.e840d9de2b8d8p1, 0x1.40643c051e171p2, 0x1.88e9c392b7fbbp2, 0x1.ce0a816784a0bp2

#define PTO_POW_POWERS                                                                                                \
  0x1p0, 0x1.0b5586cf9890fp0, 0x1.172b83c7d517bp0, 0x1.2387a6e756238p0,                                               \
  0x1.306fe0a31b715p0, 0x1.3dea64c123422p0, 0x1.4bfdad5362a27p0, 0x1.5ab07dd485429p0,                                 \
  0x1.6a09e667f3bcdp0, 0x1.7a11473eb0187p0, 0x1.8ace5422aa0dbp0, 0x1.9c49182a3f09p0,                                  \
  0x1.ae89f995ad3adp0, 0x1.c199bdd85529cp0, 0x1.d5818dcfba487p0, 0x1.ea4afa2a490dap0
/* clang-format on */

#endif
