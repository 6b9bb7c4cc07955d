/* SPDX-License-Identifier: MIT */
/*
 * The numbers of half_near.inc: for each function and each of its 32 pieces c₀, c₁, c₂ (and c₃) of c₀ + c₁t + c₂t² +
 * ….
 *
 * Each piece's were fitted to the intervals that round to the results of the table, of all fp16 and bf16 arguments that
 * meet the piece: interpolation at Chebyshev points, then projections on the constraint that is most off, then single
 * units in the last place.  So they give the table's results, which half_table_test holds for every argument, but
 * are no better approximations than that takes.
 *
 * Constants.
 */
#ifndef PTO_HALF_NEAR_TABLES_H
#define PTO_HALF_NEAR_TABLES_H

/* clang-format off */
#define PTO_TANH_NEAR(X)                                                                                               \
  X(0.0f, 0x1.2f685p-3f, -0x1.025d7ap-20f, -0x1.1b132p-10f)                                                            \
  X(0x1.2d34dcp-3f, 0x1.28d8aap-3f, -0x1.9ca4f6p-9f, -0x1.03e6a8p-10f)                                                 \
  X(0x1.26d456p-2f, 0x1.164206p-3f, -0x1.7ad29cp-8f, -0x1.89e9e2p-11f)                                                 \
  X(0x1.ab5634p-2f, 0x1.f5223ap-4f, -0x1.ee6658p-8f, -0x1.c099acp-12f)                                                 \
  X(0x1.104278p-1f, 0x1.b33a7p-4f, -0x1.11b7fcp-7f, -0x1.f2d6dep-14f)                                                  \
  X(0x1.4259e6p-1f, 0x1.6e481ap-4f, -0x1.10e968p-7f, 0x1.011ca8p-13f)                                                  \
  X(0x1.6bf3c8p-1f, 0x1.2c3104p-4f, -0x1.f95d5cp-8f, 0x1.20ff1cp-12f)                                                  \
  X(0x1.8dadap-1f, 0x1.e17698p-5f, -0x1.bb0f1ap-8f, 0x1.6c50bp-12f)                                                    \
  X(0x1.a87d2p-1f, 0x1.7b69dap-5f, -0x1.74db94p-8f, 0x1.78e7ep-12f)                                                    \
  X(0x1.bd78bcp-1f, 0x1.26e73ap-5f, -0x1.303f96p-8f, 0x1.5ebc14p-12f)                                                  \
  X(0x1.cdb18ep-1f, 0x1.c58c0cp-6f, -0x1.e51a1ap-9f, 0x1.31a074p-12f)                                                  \
  X(0x1.da1dd8p-1f, 0x1.59e724p-6f, -0x1.7c04f2p-9f, 0x1.fd92e2p-13f)                                                  \
  X(0x1.e38fb4p-1f, 0x1.06270ep-6f, -0x1.25cd12p-9f, 0x1.9b8dc8p-13f)                                                  \
  X(0x1.eab3c8p-1f, 0x1.8b77f2p-7f, -0x1.c1d05cp-10f, 0x1.45550ep-13f)                                                 \
  X(0x1.f0142cp-1f, 0x1.2938p-7f, -0x1.55cdeap-10f, 0x1.fa9bc2p-14f)                                                   \
  X(0x1.f41d38p-1f, 0x1.bd8cdap-8f, -0x1.024c76p-10f, 0x1.8531ep-14f)                                                  \
  X(0x1.f722bcp-1f, 0x1.4d471cp-8f, -0x1.84c7d4p-11f, 0x1.286ac8p-14f)                                                 \
  X(0x1.f964e4p-1f, 0x1.f1d644p-9f, -0x1.23b06ap-11f, 0x1.c0a4aep-15f)                                                 \
  X(0x1.fb1478p-1f, 0x1.73674p-9f, -0x1.b4afb8p-12f, 0x1.51edb6p-15f)                                                  \
  X(0x1.fc564cp-1f, 0x1.14d868p-9f, -0x1.46528ep-12f, 0x1.fb4d4ap-16f)                                                 \
  X(0x1.fd461ep-1f, 0x1.9c7628p-10f, -0x1.e70f8cp-13f, 0x1.7c84eap-16f)                                                \
  X(0x1.fdf8b8p-1f, 0x1.331c7ap-10f, -0x1.6b2d1p-13f, 0x1.1ce5cap-16f)                                                 \
  X(0x1.fe7dbp-1f, 0x1.c92e3p-11f, -0x1.0e994p-13f, 0x1.a92dbp-17f)                                                    \
  X(0x1.fee0a4p-1f, 0x1.5433a4p-11f, -0x1.93076ap-14f, 0x1.3cee5ap-17f)                                                \
  X(0x1.ff2a44p-1f, 0x1.fa35fp-12f, -0x1.2c04a4p-14f, 0x1.d81d66p-18f)                                                 \
  X(0x1.ff610cp-1f, 0x1.788f36p-12f, -0x1.be8ad8p-15f, 0x1.5f6fe2p-18f)                                                \
  X(0x1.ff89cap-1f, 0x1.1815a8p-12f, -0x1.4c3ddap-15f, 0x1.057e1ep-18f)                                                \
  X(0x1.ffa818p-1f, 0x1.a09e08p-13f, -0x1.ee45a8p-16f, 0x1.8681fp-19f)                                                 \
  X(0x1.ffbeap-1f, 0x1.35d5ep-13f, -0x1.6faafp-16f, 0x1.22f9fcp-19f)                                                   \
  X(0x1.ffcf64p-1f, 0x1.ccd386p-14f, -0x1.1174dp-16f, 0x1.b0b1a8p-20f)                                                 \
  X(0x1.ffdbdap-1f, 0x1.56b02cp-14f, -0x1.96be9p-17f, 0x1.41ac96p-20f)                                                 \
  X(0x1.ffe51ep-1f, 0x1.fdc0dep-15f, -0x1.2c49f2p-17f, 0x1.086724p-20f)

#define PTO_ERF_NEAR(X)                                                                                                \
  X(0.0f, 0x1.895924p-4f, -0x1.8b6e16p-24f, -0x1.e5a9e6p-13f)                                                          \
  X(0x1.886686p-4f, 0x1.868268p-4f, -0x1.69b8fap-11f, -0x1.db7e2ep-13f)                                                \
  X(0x1.859508p-3f, 0x1.7e1d8ep-4f, -0x1.61f3c2p-10f, -0x1.bcc782p-13f)                                                \
  X(0x1.20b962p-2f, 0x1.708648p-4f, -0x1.0006f4p-9f, -0x1.8bfb74p-13f)                                                 \
  X(0x1.7aaacap-2f, 0x1.5e4e34p-4f, -0x1.448156p-9f, -0x1.4c83p-13f)                                                   \
  X(0x1.cf8d72p-2f, 0x1.4832bep-4f, -0x1.7c0bbap-9f, -0x1.02b39p-13f)                                                  \
  X(0x1.0f41c4p-1f, 0x1.2f105ep-4f, -0x1.a5272p-9f, -0x1.66c4eap-14f)                                                  \
  X(0x1.337468p-1f, 0x1.13d464p-4f, -0x1.bf367p-9f, -0x1.8c1aaap-15f)                                                  \
  X(0x1.542a7ap-1f, 0x1.eedd56p-5f, -0x1.ca83bp-9f, -0x1.6560b2p-17f)                                                  \
  X(0x1.714d3ep-1f, 0x1.b58864p-5f, -0x1.c819f8p-9f, 0x1.7589aep-16f)                                                  \
  X(0x1.8ae152p-1f, 0x1.7d478ep-5f, -0x1.b9a82cp-9f, 0x1.a64d4ap-15f)                                                  \
  X(0x1.a10354p-1f, 0x1.477afp-5f, -0x1.a14fe6p-9f, 0x1.308a36p-14f)                                                   \
  X(0x1.b3e3a8p-1f, 0x1.153a1ap-5f, -0x1.816d7ap-9f, 0x1.73d51cp-14f)                                                  \
  X(0x1.c3c1c6p-1f, 0x1.ce9ec2p-6f, -0x1.5c6d48p-9f, 0x1.9dd0fep-14f)                                                  \
  X(0x1.d0e764p-1f, 0x1.7c7206p-6f, -0x1.349ce4p-9f, 0x1.b03ebep-14f)                                                  \
  X(0x1.dba3dep-1f, 0x1.345e2p-6f, -0x1.0c0b76p-9f, 0x1.ae756cp-14f)                                                   \
  X(0x1.e44824p-1f, 0x1.ecb3a2p-7f, -0x1.c8e3p-10f, 0x1.9c5d1p-14f)                                                    \
  X(0x1.eb233ap-1f, 0x1.83f3bcp-7f, -0x1.7e4af4p-10f, 0x1.7df382p-14f)                                                 \
  X(0x1.f07f9cp-1f, 0x1.2d1452p-7f, -0x1.3a2fp-10f, 0x1.577686p-14f)                                                   \
  X(0x1.f4a152p-1f, 0x1.cc992ep-8f, -0x1.fb6d9p-11f, 0x1.2cec12p-14f)                                                  \
  X(0x1.f7c4dp-1f, 0x1.5b4008p-8f, -0x1.92c1c8p-11f, 0x1.01435ep-14f)                                                  \
  X(0x1.fa1e68p-1f, 0x1.0207dp-8f, -0x1.3a4b6ep-11f, 0x1.ade09p-15f)                                                   \
  X(0x1.fbda5ep-1f, 0x1.79f416p-9f, -0x1.e260bep-12f, 0x1.5f68b6p-15f)                                                 \
  X(0x1.fd1d4cp-1f, 0x1.10d334p-9f, -0x1.6c19dcp-12f, 0x1.195618p-15f)                                                 \
  X(0x1.fe04dp-1f, 0x1.843632p-10f, -0x1.0e5ce2p-12f, 0x1.b98462p-16f)                                                 \
  X(0x1.fea868p-1f, 0x1.103ab2p-10f, -0x1.8b0eaap-13f, 0x1.52b7bcp-16f)                                                \
  X(0x1.ff1a5ap-1f, 0x1.784d64p-11f, -0x1.1c006p-13f, 0x1.ff6ecap-17f)                                                 \
  X(0x1.ff6892p-1f, 0x1.005736p-11f, -0x1.91f06p-14f, 0x1.7b123ep-17f)                                                 \
  X(0x1.ff9d7ep-1f, 0x1.583872p-12f, -0x1.17e57p-14f, 0x1.13e7b6p-17f)                                                 \
  X(0x1.ffc0c8p-1f, 0x1.c79462p-13f, -0x1.7fd03p-15f, 0x1.8a99dp-18f)                                                  \
  X(0x1.ffd7fcp-1f, 0x1.292698p-13f, -0x1.0308cap-15f, 0x1.142064p-18f)                                                \
  X(0x1.ffe704p-1f, 0x1.7e2f92p-14f, -0x1.545522p-16f, 0x1.add7fcp-19f)

#define PTO_SIGMOID_NEAR(X)                                                                                            \
  X(0x1p-1f, -0x1.ffff4ap-5f, -0x1.28bdc2p-18f, 0x1.61a10cp-12f)                                                       \
  X(0x1.c054d4p-2f, -0x1.f8152ep-5f, 0x1.f43196p-11f, 0x1.4025ccp-12f)                                                 \
  X(0x1.829a0ep-2f, -0x1.e1499cp-5f, 0x1.d663c8p-10f, 0x1.06d43ep-12f)                                                 \
  X(0x1.48856cp-2f, -0x1.be3fbap-5f, 0x1.3f2abcp-9f, 0x1.6d9ef8p-13f)                                                  \
  X(0x1.13656cp-2f, -0x1.92a948p-5f, 0x1.737ecep-9f, 0x1.824896p-14f)                                                  \
  X(0x1.c81714p-3f, -0x1.6284c6p-5f, 0x1.88b06cp-9f, 0x1.279e9ap-16f)                                                  \
  X(0x1.759b9p-3f, -0x1.3173b6p-5f, 0x1.839dbp-9f, -0x1.54745ep-15f)                                                   \
  X(0x1.2f3366p-3f, -0x1.02500ep-5f, 0x1.6b6a78p-9f, -0x1.4e2806p-14f)                                                 \
  X(0x1.e84154p-4f, -0x1.ae0db8p-6f, 0x1.476d6ep-9f, -0x1.a7ea5ap-14f)                                                 \
  X(0x1.868d2ap-4f, -0x1.615006p-6f, 0x1.1dec5ep-9f, -0x1.c60e08p-14f)                                                 \
  X(0x1.36b70ep-4f, -0x1.1f2516p-6f, 0x1.e742c4p-10f, -0x1.bb555ep-14f)                                                \
  X(0x1.ec3accp-5f, -0x1.cea748p-7f, 0x1.973856p-10f, -0x1.97b1aep-14f)                                                \
  X(0x1.848338p-5f, -0x1.721654p-7f, 0x1.4f2eecp-10f, -0x1.67a704p-14f)                                                \
  X(0x1.31c81cp-5f, -0x1.265e34p-7f, 0x1.109672p-10f, -0x1.33e44ap-14f)                                                \
  X(0x1.e0405p-6f, -0x1.d22cap-8f, 0x1.b738a8p-11f, -0x1.01c92p-14f)                                                   \
  X(0x1.7876p-6f, -0x1.6fcfa4p-8f, 0x1.5f3b5ep-11f, -0x1.a88052p-15f)                                                  \
  X(0x1.26af9p-6f, -0x1.2162bap-8f, 0x1.174372p-11f, -0x1.593188p-15f)                                                 \
  X(0x1.ccd626p-7f, -0x1.c65b18p-9f, 0x1.ba06a6p-12f, -0x1.15d6bp-15f)                                                 \
  X(0x1.68050cp-7f, -0x1.6410bp-9f, 0x1.5ca242p-12f, -0x1.bbbff4p-16f)                                                 \
  X(0x1.191118p-7f, -0x1.16a7fap-9f, 0x1.122d2cp-12f, -0x1.60ca1ep-16f)                                                \
  X(0x1.b69f46p-8f, -0x1.b3afdcp-10f, 0x1.ae5ecap-13f, -0x1.170e16p-16f)                                               \
  X(0x1.561b16p-8f, -0x1.5451fcp-10f, 0x1.51273ep-13f, -0x1.b7e78cp-17f)                                               \
  X(0x1.0abd8p-8f, -0x1.09a7a2p-10f, 0x1.07d1a2p-13f, -0x1.59d5dap-17f)                                                \
  X(0x1.9fd976p-9f, -0x1.9e87ccp-11f, 0x1.9c6274p-14f, -0x1.0f4b1ap-17f)                                               \
  X(0x1.44175ep-9f, -0x1.434a4cp-11f, 0x1.421922p-14f, -0x1.a8fc9ap-18f)                                               \
  X(0x1.f914d6p-10f, -0x1.f81bd2p-12f, 0x1.f6c412p-15f, -0x1.4c6d5ep-18f)                                              \
  X(0x1.898682p-10f, -0x1.88ef6p-12f, 0x1.8841aep-15f, -0x1.03cbe2p-18f)                                               \
  X(0x1.32946cp-10f, -0x1.3238b4p-12f, 0x1.31dfap-15f, -0x1.95b904p-19f)                                               \
  X(0x1.dda712p-11f, -0x1.dd37cap-13f, 0x1.dcf656p-16f, -0x1.3ca654p-19f)                                              \
  X(0x1.74123ep-11f, -0x1.73cebcp-13f, 0x1.73badcp-16f, -0x1.edfd6ep-20f)                                              \
  X(0x1.21d09ap-11f, -0x1.21a7aap-13f, 0x1.21b58cp-16f, -0x1.81392ap-20f)                                              \
  X(0x1.c378a8p-12f, -0x1.c347p-14f, 0x1.c36fecp-17f, -0x1.2c4ae6p-20f)

#define PTO_SILU_NEAR(X)                                                                                               \
  X(0x1p-1f, -0x1.ffff8p-5f, -0x1.53ae1ap-21f, 0x1.555126p-12f)                                                        \
  X(0x1.c054d2p-2f, -0x1.f8151ep-5f, 0x1.f4343ep-11f, 0x1.40030ap-12f)                                                 \
  X(0x1.829a0ep-2f, -0x1.e1499cp-5f, 0x1.d663c8p-10f, 0x1.06d43ep-12f)                                                 \
  X(0x1.48856cp-2f, -0x1.be3fbap-5f, 0x1.3f2abcp-9f, 0x1.6d9ef8p-13f)                                                  \
  X(0x1.13656cp-2f, -0x1.92a948p-5f, 0x1.737ecep-9f, 0x1.824896p-14f)                                                  \
  X(0x1.c81714p-3f, -0x1.6284c6p-5f, 0x1.88b06cp-9f, 0x1.279e9ap-16f)                                                  \
  X(0x1.759b9p-3f, -0x1.3173b6p-5f, 0x1.839dbp-9f, -0x1.54745ep-15f)                                                   \
  X(0x1.2f3366p-3f, -0x1.02500ep-5f, 0x1.6b6a78p-9f, -0x1.4e2806p-14f)                                                 \
  X(0x1.e8415ap-4f, -0x1.ae0dc6p-6f, 0x1.476a5p-9f, -0x1.a79f7ep-14f)                                                  \
  X(0x1.868d2ap-4f, -0x1.615006p-6f, 0x1.1dec5ep-9f, -0x1.c60e08p-14f)                                                 \
  X(0x1.36b70ep-4f, -0x1.1f2516p-6f, 0x1.e742c4p-10f, -0x1.bb555ep-14f)                                                \
  X(0x1.ec3ad4p-5f, -0x1.cea78ap-7f, 0x1.973468p-10f, -0x1.970eep-14f)                                                 \
  X(0x1.848338p-5f, -0x1.721654p-7f, 0x1.4f2eecp-10f, -0x1.67a704p-14f)                                                \
  X(0x1.31c81cp-5f, -0x1.265e34p-7f, 0x1.109672p-10f, -0x1.33e44ap-14f)                                                \
  X(0x1.e0405p-6f, -0x1.d22cap-8f, 0x1.b738a8p-11f, -0x1.01c92p-14f)                                                   \
  X(0x1.7876p-6f, -0x1.6fcfa4p-8f, 0x1.5f3b5ep-11f, -0x1.a88052p-15f)                                                  \
  X(0x1.26af9p-6f, -0x1.2162cp-8f, 0x1.17431cp-11f, -0x1.591c26p-15f)                                                  \
  X(0x1.ccd626p-7f, -0x1.c65b18p-9f, 0x1.ba06a6p-12f, -0x1.15d6bp-15f)                                                 \
  X(0x1.68050ep-7f, -0x1.641086p-9f, 0x1.5ca288p-12f, -0x1.bc0e3p-16f)                                                 \
  X(0x1.191118p-7f, -0x1.16a7fap-9f, 0x1.122d2cp-12f, -0x1.60ca1ep-16f)                                                \
  X(0x1.b69f46p-8f, -0x1.b3afdcp-10f, 0x1.ae5ecap-13f, -0x1.170e16p-16f)                                               \
  X(0x1.561b16p-8f, -0x1.5451fcp-10f, 0x1.51273ep-13f, -0x1.b7e78cp-17f)                                               \
  X(0x1.0abd8p-8f, -0x1.09a7a2p-10f, 0x1.07d1a2p-13f, -0x1.59d5dap-17f)                                                \
  X(0x1.9fd976p-9f, -0x1.9e87ccp-11f, 0x1.9c6274p-14f, -0x1.0f4b1ap-17f)                                               \
  X(0x1.44175ep-9f, -0x1.434a4cp-11f, 0x1.421922p-14f, -0x1.a8fc9ap-18f)                                               \
  X(0x1.f914d6p-10f, -0x1.f81bd2p-12f, 0x1.f6c412p-15f, -0x1.4c6d5ep-18f)                                              \
  X(0x1.898682p-10f, -0x1.88ef6p-12f, 0x1.8841aep-15f, -0x1.03cbe2p-18f)                                               \
  X(0x1.32946cp-10f, -0x1.3238b4p-12f, 0x1.31dfap-15f, -0x1.95b904p-19f)                                               \
  X(0x1.dda712p-11f, -0x1.dd37cap-13f, 0x1.dcf656p-16f, -0x1.3ca654p-19f)                                              \
  X(0x1.74123ep-11f, -0x1.73cebcp-13f, 0x1.73badcp-16f, -0x1.edfd6ep-20f)                                              \
  X(0x1.21d09ap-11f, -0x1.21a7aap-13f, 0x1.21b58cp-16f, -0x1.81392ap-20f)                                              \
  X(0x1.c378a8p-12f, -0x1.c345f6p-14f, 0x1.c36ec6p-17f, -0x1.2c4866p-20f)

#define PTO_GELU_NEAR(X)                                                                                               \
  X(0x1p-1f, -0x1.9886ep-5f, 0x1.d9d1ccp-18f, 0x1.f8b772p-14f)                                                         \
  X(0x1.cd116ep-2f, -0x1.955678p-5f, 0x1.94f208p-12f, 0x1.09da66p-13f)                                                 \
  X(0x1.9aecbcp-2f, -0x1.8bf2b8p-5f, 0x1.8b91dcp-11f, 0x1.eeaa0ap-14f)                                                 \
  X(0x1.6a527cp-2f, -0x1.7cc794p-5f, 0x1.1d5234p-10f, 0x1.b4189p-14f)                                                  \
  X(0x1.3bf146p-2f, -0x1.6883dp-5f, 0x1.68313cp-10f, 0x1.685e44p-14f)                                                  \
  X(0x1.105e86p-2f, -0x1.50096ep-5f, 0x1.a3b1eap-10f, 0x1.10f5d2p-14f)                                                 \
  X(0x1.d02206p-3f, -0x1.345d5ep-5f, 0x1.ce2e24p-10f, 0x1.67c4a8p-15f)                                                 \
  X(0x1.86bb54p-3f, -0x1.169596p-5f, 0x1.e72c72p-10f, 0x1.5c849ap-16f)                                                 \
  X(0x1.44ed1p-3f, -0x1.ef8e5ap-6f, 0x1.ef3bc8p-10f, 0x1.081fe2p-25f)                                                  \
  X(0x1.0ad7dep-3f, -0x1.b1ec64p-6f, 0x1.e7e594p-10f, -0x1.32b52p-16f)                                                 \
  X(0x1.b0bdd8p-4f, -0x1.7610bap-6f, 0x1.d35ce6p-10f, -0x1.182a7ep-15f)                                                \
  X(0x1.5a619ap-4f, -0x1.3d7714p-6f, 0x1.b45c9ep-10f, -0x1.789bap-15f)                                                 \
  X(0x1.11a47p-4f, -0x1.094086p-6f, 0x1.8dc7e8p-10f, -0x1.b9b614p-15f)                                                 \
  X(0x1.aaa65ep-5f, -0x1.b4617cp-7f, 0x1.6284e4p-10f, -0x1.dcf7ep-15f)                                                 \
  X(0x1.482a24p-5f, -0x1.616456p-7f, 0x1.35396p-10f, -0x1.e5a354p-15f)                                                 \
  X(0x1.f2039p-6f, -0x1.19bfa4p-7f, 0x1.082ea4p-10f, -0x1.d84fep-15f)                                                  \
  X(0x1.74bceep-6f, -0x1.ba4b46p-8f, 0x1.ba7016p-11f, -0x1.ba2666p-15f)                                                \
  X(0x1.132432p-6f, -0x1.55c74p-8f, 0x1.6b4eb6p-11f, -0x1.9071bp-15f)                                                  \
  X(0x1.909236p-7f, -0x1.0402ep-8f, 0x1.24b57cp-11f, -0x1.6011a4p-15f)                                                 \
  X(0x1.1f858cp-7f, -0x1.857a94p-9f, 0x1.cee10ap-12f, -0x1.2d3fc2p-15f)                                                \
  X(0x1.96f4b4p-8f, -0x1.1f2f04p-9f, 0x1.675bf8p-12f, -0x1.f6a818p-16f)                                                \
  X(0x1.1bee44p-8f, -0x1.a0f228p-10f, 0x1.11f22ap-12f, -0x1.997632p-16f)                                               \
  X(0x1.868ff6p-9f, -0x1.29fa5p-10f, 0x1.9a53f8p-13f, -0x1.460e92p-16f)                                                \
  X(0x1.08c85ep-9f, -0x1.a34da8p-11f, 0x1.2d99fp-13f, -0x1.fbb274p-17f)                                                \
  X(0x1.61ddecp-10f, -0x1.22715ap-11f, 0x1.b47p-14f, -0x1.83e3d2p-17f)                                                 \
  X(0x1.d21a5ep-11f, -0x1.8c2214p-12f, 0x1.361e2cp-14f, -0x1.219d5ap-17f)                                              \
  X(0x1.2e8676p-11f, -0x1.09f38p-12f, 0x1.b13c38p-15f, -0x1.a84d9cp-18f)                                               \
  X(0x1.830108p-12f, -0x1.5f90e2p-13f, 0x1.29650ap-15f, -0x1.30c31p-18f)                                               \
  X(0x1.e7db9cp-13f, -0x1.c9868p-14f, 0x1.916322p-16f, -0x1.aef4bap-19f)                                               \
  X(0x1.2efebap-13f, -0x1.251b24p-14f, 0x1.0a724ep-16f, -0x1.293ecp-19f)                                               \
  X(0x1.72d76cp-14f, -0x1.71b6b6p-15f, 0x1.5be918p-17f, -0x1.945ef8p-20f)                                              \
  X(0x1.bf35dep-15f, -0x1.cb21ccp-16f, 0x1.be6b44p-18f, -0x1.0c9ca2p-20f)

#define PTO_GELU_TANH_NEAR(X)                                                                                          \
  X(0x1p-1f, -0x1.9886ep-5f, 0x1.d9eebp-18f, 0x1.fb64d4p-14f)                                                          \
  X(0x1.cd1198p-2f, -0x1.95528p-5f, 0x1.96e2dep-12f, 0x1.0b0dc8p-13f)                                                  \
  X(0x1.9aee06p-2f, -0x1.8be3bp-5f, 0x1.8d4d12p-11f, 0x1.f03ffp-14f)                                                   \
  X(0x1.6a569cp-2f, -0x1.7ca8f2p-5f, 0x1.1e5b86p-10f, 0x1.b5c6dep-14f)                                                 \
  X(0x1.3bfa4ep-2f, -0x1.685438p-5f, 0x1.693006p-10f, 0x1.675b94p-14f)                                                 \
  X(0x1.106e6ap-2f, -0x1.4fcc06p-5f, 0x1.a4601cp-10f, 0x1.0ea54p-14f)                                                  \
  X(0x1.d05236p-3f, -0x1.341904p-5f, 0x1.ce54a6p-10f, 0x1.613bccp-15f)                                                 \
  X(0x1.86fc7cp-3f, -0x1.1653f8p-5f, 0x1.e6aa8ep-10f, 0x1.4de856p-16f)                                                 \
  X(0x1.453d28p-3f, -0x1.ef2636p-6f, 0x1.ee0f16p-10f, -0x1.9dad76p-21f)                                                \
  X(0x1.0b3238p-3f, -0x1.b1b33ap-6f, 0x1.e62becp-10f, -0x1.3c66ccp-16f)                                                \
  X(0x1.b17966p-4f, -0x1.7614e4p-6f, 0x1.d14f9ap-10f, -0x1.1a2fdap-15f)                                                \
  X(0x1.5b13bcp-4f, -0x1.3dbe86p-6f, 0x1.b2456p-10f, -0x1.776594p-15f)                                                 \
  X(0x1.123c92p-4f, -0x1.09c7aep-6f, 0x1.8bf2fp-10f, -0x1.b57b1p-15f)                                                  \
  X(0x1.ab8592p-5f, -0x1.b5d626p-7f, 0x1.61324ep-10f, -0x1.d67a7ap-15f)                                                \
  X(0x1.48a34ap-5f, -0x1.6318e6p-7f, 0x1.34926ep-10f, -0x1.de027cp-15f)                                                \
  X(0x1.f214fap-6f, -0x1.1b86dep-7f, 0x1.083fep-10f, -0x1.d0c5c4p-15f)                                                 \
  X(0x1.73ef8p-6f, -0x1.bda582p-8f, 0x1.bbe38ep-11f, -0x1.b3ca14p-15f)                                                 \
  X(0x1.118ed4p-6f, -0x1.58a19ap-8f, 0x1.6dc70ap-11f, -0x1.8c068cp-15f)                                                \
  X(0x1.8c25dp-7f, -0x1.06289cp-8f, 0x1.27cb4cp-11f, -0x1.5df05ep-15f)                                                 \
  X(0x1.1a3958p-7f, -0x1.882992p-9f, 0x1.d56cf2p-12f, -0x1.2d574ep-15f)                                                \
  X(0x1.8b6c9cp-8f, -0x1.20430ep-9f, 0x1.6d8362p-12f, -0x1.fa7e7cp-16f)                                                \
  X(0x1.103a3ep-8f, -0x1.a03e62p-10f, 0x1.17219p-12f, -0x1.9fc534p-16f)                                                \
  X(0x1.701a8p-9f, -0x1.26ffd6p-10f, 0x1.a2139cp-13f, -0x1.4d8924p-16f)                                                \
  X(0x1.e87a0ap-10f, -0x1.9a2f36p-11f, 0x1.32c6dep-13f, -0x1.057dd4p-16f)                                              \
  X(0x1.3dd6a6p-10f, -0x1.178beap-11f, 0x1.b90a3cp-14f, -0x1.90b2d4p-17f)                                              \
  X(0x1.95506ap-11f, -0x1.753c1ap-12f, 0x1.363958p-14f, -0x1.2be204p-17f)                                              \
  X(0x1.fa1878p-12f, -0x1.e7bfaep-13f, 0x1.aaf60cp-15f, -0x1.b65124p-18f)                                              \
  X(0x1.35243ap-12f, -0x1.37b0fap-13f, 0x1.1f112p-15f, -0x1.37c89ep-18f)                                               \
  X(0x1.713722p-13f, -0x1.8547aap-14f, 0x1.78fa4cp-16f, -0x1.aef95cp-19f)                                              \
  X(0x1.aebbfep-14f, -0x1.dab128p-15f, 0x1.e30104p-17f, -0x1.2743dep-19f)                                              \
  X(0x1.ea7334p-15f, -0x1.1a6374p-15f, 0x1.2dc4e2p-17f, -0x1.818c38p-20f)                                              \
  X(0x1.104d6ap-15f, -0x1.476f64p-16f, 0x1.6f1c7cp-18f, -0x1.f4007ap-21f)

#define PTO_EXP_NEAR(X)                                                                                                \
  X(0x1p0f, 0x1.62e586p-6f, 0x1.ebdeaap-13f)                                                                           \
  X(0x1.059b0ep0f, 0x1.6aaaf8p-6f, 0x1.f64fdcp-13f)                                                                    \
  X(0x1.0b5586p0f, 0x1.729bf2p-6f, 0x1.00e26cp-12f)                                                                    \
  X(0x1.11301ep0f, 0x1.7ab976p-6f, 0x1.0682d6p-12f)                                                                    \
  X(0x1.172b84p0f, 0x1.830476p-6f, 0x1.0c42a8p-12f)                                                                    \
  X(0x1.1d4874p0f, 0x1.8b7df4p-6f, 0x1.1221cp-12f)                                                                     \
  X(0x1.2387a6p0f, 0x1.9426f2p-6f, 0x1.1821p-12f)                                                                      \
  X(0x1.29e9ep0f, 0x1.9d008p-6f, 0x1.1e44d4p-12f)                                                                      \
  X(0x1.306fep0f, 0x1.a60ba6p-6f, 0x1.248984p-12f)                                                                     \
  X(0x1.371a74p0f, 0x1.af497ep-6f, 0x1.2af184p-12f)                                                                    \
  X(0x1.3dea64p0f, 0x1.b8bb26p-6f, 0x1.317c6ap-12f)                                                                    \
  X(0x1.44e086p0f, 0x1.c261bep-6f, 0x1.382de4p-12f)                                                                    \
  X(0x1.4bfdaep0f, 0x1.cc3e7p-6f, 0x1.3f038ep-12f)                                                                     \
  X(0x1.5342b6p0f, 0x1.d65268p-6f, 0x1.4600a2p-12f)                                                                    \
  X(0x1.5ab07ep0f, 0x1.e09edep-6f, 0x1.4d22b4p-12f)                                                                    \
  X(0x1.6247ecp0f, 0x1.eb2514p-6f, 0x1.546e74p-12f)                                                                    \
  X(0x1.6a09e6p0f, 0x1.f5e646p-6f, 0x1.5be34p-12f)                                                                     \
  X(0x1.71f75ep0f, 0x1.0071e2p-5f, 0x1.6381dap-12f)                                                                    \
  X(0x1.7a1148p0f, 0x1.060f6cp-5f, 0x1.6b4b04p-12f)                                                                    \
  X(0x1.82589ap0f, 0x1.0bcc72p-5f, 0x1.733dfcp-12f)                                                                    \
  X(0x1.8ace54p0f, 0x1.11a9a4p-5f, 0x1.7b5ff4p-12f)                                                                    \
  X(0x1.93737cp0f, 0x1.17a7b4p-5f, 0x1.83ae3cp-12f)                                                                    \
  X(0x1.9c4918p0f, 0x1.1dc75ap-5f, 0x1.8c2cbep-12f)                                                                    \
  X(0x1.a5503cp0f, 0x1.240956p-5f, 0x1.94d866p-12f)                                                                    \
  X(0x1.ae89fap0f, 0x1.2a6e66p-5f, 0x1.9db604p-12f)                                                                    \
  X(0x1.b7f77p0f, 0x1.30f74ep-5f, 0x1.a6c514p-12f)                                                                     \
  X(0x1.c199bep0f, 0x1.37a4ecp-5f, 0x1.b013a2p-12f)                                                                    \
  X(0x1.cb720ep0f, 0x1.3e77d2p-5f, 0x1.b97cdep-12f)                                                                    \
  X(0x1.d58196p0f, 0x1.4577a2p-5f, 0x1.c3a2bep-12f)                                                                    \
  X(0x1.dfc974p0f, 0x1.4c915cp-5f, 0x1.cd0808p-12f)                                                                    \
  X(0x1.ea4afap0f, 0x1.53d99ap-5f, 0x1.d768b6p-12f)                                                                    \
  X(0x1.f50766p0f, 0x1.5b4ab6p-5f, 0x1.e1727cp-12f)

#define PTO_EXP2_NEAR(X)                                                                                               \
  X(0x1.fffffep-1f, 0x1.62e30ap-6f, 0x1.ebf57p-13f)                                                                    \
  X(0x1.059b0ep0f, 0x1.6aaaf2p-6f, 0x1.f6c208p-13f)                                                                    \
  X(0x1.0b5586p0f, 0x1.729bf2p-6f, 0x1.00e284p-12f)                                                                    \
  X(0x1.11301ep0f, 0x1.7ab974p-6f, 0x1.068286p-12f)                                                                    \
  X(0x1.172b84p0f, 0x1.830478p-6f, 0x1.0c4212p-12f)                                                                    \
  X(0x1.1d4874p0f, 0x1.8b7dfp-6f, 0x1.1221d4p-12f)                                                                     \
  X(0x1.2387a6p0f, 0x1.9426f4p-6f, 0x1.182288p-12f)                                                                    \
  X(0x1.29e9ep0f, 0x1.9d007ap-6f, 0x1.1e44dep-12f)                                                                     \
  X(0x1.306fep0f, 0x1.a60ba6p-6f, 0x1.24899ap-12f)                                                                     \
  X(0x1.371a74p0f, 0x1.af4974p-6f, 0x1.2af174p-12f)                                                                    \
  X(0x1.3dea64p0f, 0x1.b8bb28p-6f, 0x1.317d4p-12f)                                                                     \
  X(0x1.44e086p0f, 0x1.c261b2p-6f, 0x1.382db4p-12f)                                                                    \
  X(0x1.4bfdaep0f, 0x1.cc3e7p-6f, 0x1.3f03b2p-12f)                                                                     \
  X(0x1.5342b6p0f, 0x1.d65266p-6f, 0x1.460552p-12f)                                                                    \
  X(0x1.5ab07ep0f, 0x1.e09ee2p-6f, 0x1.4d236ep-12f)                                                                    \
  X(0x1.6247ecp0f, 0x1.eb2506p-6f, 0x1.546eep-12f)                                                                     \
  X(0x1.6a09e6p0f, 0x1.f5e648p-6f, 0x1.5be34p-12f)                                                                     \
  X(0x1.71f75ep0f, 0x1.0071dap-5f, 0x1.63816p-12f)                                                                     \
  X(0x1.7a1148p0f, 0x1.060f6ep-5f, 0x1.6b4a3ep-12f)                                                                    \
  X(0x1.82589ap0f, 0x1.0bcc6cp-5f, 0x1.733eb4p-12f)                                                                    \
  X(0x1.8ace54p0f, 0x1.11a9a4p-5f, 0x1.7b5fccp-12f)                                                                    \
  X(0x1.93737cp0f, 0x1.17a7acp-5f, 0x1.83ae6cp-12f)                                                                    \
  X(0x1.9c4918p0f, 0x1.1dc75cp-5f, 0x1.8c2baap-12f)                                                                    \
  X(0x1.a5503cp0f, 0x1.24094ep-5f, 0x1.94d87p-12f)                                                                     \
  X(0x1.ae89fap0f, 0x1.2a6e66p-5f, 0x1.9db5e4p-12f)                                                                    \
  X(0x1.b7f77p0f, 0x1.30f74ap-5f, 0x1.a6c502p-12f)                                                                     \
  X(0x1.c199bep0f, 0x1.37a4d8p-5f, 0x1.b006ecp-12f)                                                                    \
  X(0x1.cb720ep0f, 0x1.3e77ccp-5f, 0x1.b97cb6p-12f)                                                                    \
  X(0x1.d5818ep0f, 0x1.45710ap-5f, 0x1.c327d2p-12f)                                                                    \
  X(0x1.dfc974p0f, 0x1.4c915ap-5f, 0x1.cd0892p-12f)                                                                    \
  X(0x1.ea4afap0f, 0x1.53d9ap-5f, 0x1.d720fcp-12f)                                                                     \
  X(0x1.f50768p0f, 0x1.5b4aa8p-5f, 0x1.e0f9c2p-12f)

#define PTO_LOG_NEAR(X)                                                                                                \
  X(0x1p0f, -0x1.ffdf5ep-2f, 0x1.4a0462p-2f)                                                                           \
  X(0x1.fffd4ep-1f, -0x1.fe8a66p-2f, 0x1.343884p-2f)                                                                   \
  X(0x1.fff38ep-1f, -0x1.fc179cp-2f, 0x1.206a3p-2f)                                                                    \
  X(0x1.ffdf7ep-1f, -0x1.f8bbbep-2f, 0x1.0e5e74p-2f)                                                                   \
  X(0x1.ffbed6p-1f, -0x1.f4a284p-2f, 0x1.fbc532p-3f)                                                                   \
  X(0x1.ff9006p-1f, -0x1.eff046p-2f, 0x1.dd9578p-3f)                                                                   \
  X(0x1.ff5218p-1f, -0x1.eac34ap-2f, 0x1.c1e18ep-3f)                                                                   \
  X(0x1.ff0482p-1f, -0x1.e534dap-2f, 0x1.a8671cp-3f)                                                                   \
  X(0x1.fea70ap-1f, -0x1.df5a12p-2f, 0x1.90ec16p-3f)                                                                   \
  X(0x1.fe38ap-1f, -0x1.d9358ap-2f, 0x1.7b10fap-3f)                                                                    \
  X(0x1.fdbce4p-1f, -0x1.d3036p-2f, 0x1.672eccp-3f)                                                                    \
  X(0x1.fd1b64p-1f, -0x1.cbaep-2f, 0x1.51ddcap-3f)                                                                     \
  X(0x1.fc9606p-1f, -0x1.c62cfep-2f, 0x1.4356b6p-3f)                                                                   \
  X(0x1.fbed1p-1f, -0x1.bfabp-2f, 0x1.334b4ep-3f)                                                                      \
  X(0x1.fb368cp-1f, -0x1.b92402p-2f, 0x1.245a4ep-3f)                                                                   \
  X(0x1.fa7318p-1f, -0x1.b29e1cp-2f, 0x1.166b04p-3f)                                                                   \
  X(0x1.01c378p0f, -0x1.ae7674p-2f, 0x1.3d682cp-1f)                                                                    \
  X(0x1.016044p0f, -0x1.bbab82p-2f, 0x1.2f568ap-1f)                                                                    \
  X(0x1.010f36p0f, -0x1.c73b5cp-2f, 0x1.2224acp-1f)                                                                    \
  X(0x1.00cd9p0f, -0x1.d15078p-2f, 0x1.15c0c6p-1f)                                                                     \
  X(0x1.0098f6p0f, -0x1.da10aep-2f, 0x1.0a1ac2p-1f)                                                                    \
  X(0x1.006f5ap0f, -0x1.e19dcp-2f, 0x1.fe481cp-2f)                                                                     \
  X(0x1.004eeep0f, -0x1.e815ep-2f, 0x1.e99eeap-2f)                                                                     \
  X(0x1.003626p0f, -0x1.ed9416p-2f, 0x1.d621fp-2f)                                                                     \
  X(0x1.0023a8p0f, -0x1.f2309cp-2f, 0x1.c3bb56p-2f)                                                                    \
  X(0x1.001642p0f, -0x1.f6013ap-2f, 0x1.b2573p-2f)                                                                     \
  X(0x1.000cfp0f, -0x1.f9198p-2f, 0x1.a1e352p-2f)                                                                      \
  X(0x1.0006ccp0f, -0x1.fb8b12p-2f, 0x1.924f1ap-2f)                                                                    \
  X(0x1.00031p0f, -0x1.fd65d4p-2f, 0x1.838b4ep-2f)                                                                     \
  X(0x1.00011p0f, -0x1.feb81ap-2f, 0x1.7589f4p-2f)                                                                     \
  X(0x1.000036p0f, -0x1.ff8eep-2f, 0x1.683e3ap-2f)                                                                     \
  X(0x1p0f, -0x1.fff5dep-2f, 0x1.5b9c5p-2f)

#define PTO_LOG2_NEAR(X)                                                                                               \
  X(0x1.715472p0f, -0x1.713cecp-1f, 0x1.dc1d34p-2f)                                                                    \
  X(0x1.715284p0f, -0x1.7046f8p-1f, 0x1.bcab28p-2f)                                                                    \
  X(0x1.714b7cp0f, -0x1.6e82d6p-1f, 0x1.a01836p-2f)                                                                    \
  X(0x1.713d04p0f, -0x1.6c1692p-1f, 0x1.860f5ap-2f)                                                                    \
  X(0x1.71257p0f, -0x1.6921b6p-1f, 0x1.6e4762p-2f)                                                                     \
  X(0x1.7103bp0f, -0x1.65be7ap-1f, 0x1.588102p-2f)                                                                     \
  X(0x1.70d704p0f, -0x1.6202b4p-1f, 0x1.448546p-2f)                                                                    \
  X(0x1.709f0cp0f, -0x1.5e00a2p-1f, 0x1.322452p-2f)                                                                    \
  X(0x1.705bap0f, -0x1.59c77ep-1f, 0x1.213448p-2f)                                                                     \
  X(0x1.700cccp0f, -0x1.55640ap-1f, 0x1.119072p-2f)                                                                    \
  X(0x1.6fb2b8p0f, -0x1.50e0f8p-1f, 0x1.03187ap-2f)                                                                    \
  X(0x1.6f4daep0f, -0x1.4c473cp-1f, 0x1.eb5fb8p-3f)                                                                    \
  X(0x1.6ede06p0f, -0x1.479e5ap-1f, 0x1.d27aaap-3f)                                                                    \
  X(0x1.6e6424p0f, -0x1.42ec96p-1f, 0x1.bb54fp-3f)                                                                     \
  X(0x1.6de07cp0f, -0x1.3e373ap-1f, 0x1.a5c6ap-3f)                                                                     \
  X(0x1.6d538p0f, -0x1.3982a6p-1f, 0x1.91ac1cp-3f)                                                                     \
  X(0x1.73dfcap0f, -0x1.368362p-1f, 0x1.c9ebe2p-1f)                                                                    \
  X(0x1.7350aep0f, -0x1.400a4cp-1f, 0x1.b59fdp-1f)                                                                     \
  X(0x1.72dbbcp0f, -0x1.48616p-1f, 0x1.a29696p-1f)                                                                     \
  X(0x1.727d06p0f, -0x1.4fa742p-1f, 0x1.90b682p-1f)                                                                    \
  X(0x1.723124p0f, -0x1.55f73ap-1f, 0x1.7fe85ep-1f)                                                                    \
  X(0x1.71f51ap0f, -0x1.5b69a4p-1f, 0x1.701726p-1f)                                                                    \
  X(0x1.71c656p0f, -0x1.601448p-1f, 0x1.612fcep-1f)                                                                    \
  X(0x1.71a296p0f, -0x1.640aa6p-1f, 0x1.532104p-1f)                                                                    \
  X(0x1.7187e6p0f, -0x1.675e38p-1f, 0x1.45db08p-1f)                                                                    \
  X(0x1.717492p0f, -0x1.6a1eb2p-1f, 0x1.394f7ep-1f)                                                                    \
  X(0x1.71672p0f, -0x1.6c5a34p-1f, 0x1.2d7144p-1f)                                                                     \
  X(0x1.715e44p0f, -0x1.6e1d74p-1f, 0x1.22346p-1f)                                                                     \
  X(0x1.7158e2p0f, -0x1.6f73ecp-1f, 0x1.178dd4p-1f)                                                                    \
  X(0x1.7156p0f, -0x1.7067fp-1f, 0x1.0d738cp-1f)                                                                       \
  X(0x1.7154c4p0f, -0x1.7102dcp-1f, 0x1.03dc46p-1f)                                                                    \
  X(0x1.715478p0f, -0x1.714d28p-1f, 0x1.f57fp-2f)

/* clang-format on */

#endif
