/**
 * Pure: whether a certificate is strong enough to authenticate a client. The bounds are those of security level 2 of OpenSSL, by which
 * handshakes verify chains; a key registered by its thumbprint, and a chain that a proxy sends, are verified by no handshake.
 */
import type { X509Certificate } from 'node:crypto';

/** 112 bits of security each. */
const [modulusBitsMin, curveBitsMin] = [2_048, 224];

/** `prime256v1`, `secp384r1`, `brainpoolP256r1`. A curve without a name, or without its size in it, counts as too small. */
const curveBitsOf = (name: string | undefined): number => Number(/\d{3}/.exec(name ?? '')?.[0] ?? 0);

export const hasStrongKey = (certificate: X509Certificate): boolean => {
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey;
    if (type === 'ec') return curveBitsOf(details?.namedCurve) >= curveBitsMin;
    return details?.modulusLength === undefined || details.modulusLength >= modulusBitsMin;
  } catch {
    // A kind of key that the library does not know.
    return false;
  }
};
