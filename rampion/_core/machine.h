/* What differs between compilers and processors: gcc and clang have builtins for it, Microsoft's compiler intrinsics.
   RAMPION_PLAIN compiles the branches of other compilers with any, so that they can be tested (packaging/compilers.py). */

#ifndef RAMPION_MACHINE_H
#define RAMPION_MACHINE_H

#include <stdint.h>

#if defined(_MSC_VER) /* for x86-64 and ARM64, which are little-endian */
#include <intrin.h>
#elif !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the layout in slab.h packs bytes and 64-bit masks into 32-bit words: it needs a little-endian machine"
#endif

#if defined(__GNUC__) && !defined(RAMPION_PLAIN) /* clang too */

#define RAMPION_GNU 1
#define RAMPION_INLINE __attribute__((always_inline)) static inline
#define RAMPION_UNUSED __attribute__((unused))
#define rampion_prefetch(address) __builtin_prefetch(address)
RAMPION_INLINE int rampion_ones(uint64_t bits) { return __builtin_popcountll(bits); }
RAMPION_INLINE int rampion_lowest(uint64_t bits) { return __builtin_ctzll(bits); }
RAMPION_INLINE uint64_t rampion_high(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }

#else

#define RAMPION_GNU 0
#define RAMPION_UNUSED

#if defined(_MSC_VER)
#define RAMPION_INLINE static __forceinline
#else
#define RAMPION_INLINE static inline
#endif

#if defined(_M_X64) && defined(_MSC_VER)
#define rampion_prefetch(address) _mm_prefetch((const char *)(address), _MM_HINT_T0)
#else
#define rampion_prefetch(address) ((void)(address))
#endif

/* How many bits are 1; summed in pairs, fours and bytes (not every x86-64 has an instruction for it). */
static inline int rampion_ones(uint64_t bits) {
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (int)(bits * UINT64_C(0x0101010101010101) >> 56);
}

/* The place of the lowest bit that is 1; there must be one. */
static inline int rampion_lowest(uint64_t bits) {
#if defined(_MSC_VER)
    unsigned long found;
    _BitScanForward64(&found, bits);
    return (int)found;
#else
    return rampion_ones((bits & (0 - bits)) - 1);
#endif
}

/* The upper 64 bits of the product. */
static inline uint64_t rampion_high(uint64_t a, uint64_t b) {
#if defined(_MSC_VER)
    return __umulh(a, b);
#else
    uint64_t low = (uint32_t)a * (uint64_t)(uint32_t)b, one = (a >> 32) * (uint32_t)b, other = (uint32_t)a * (b >> 32);
    uint64_t middle = (low >> 32) + (uint32_t)one + (uint32_t)other;
    return (a >> 32) * (b >> 32) + (one >> 32) + (other >> 32) + (middle >> 32);
#endif
}

#endif

#endif
