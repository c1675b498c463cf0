/** Settings of client certificates (RFC 8705). */
import { isIPv6 } from 'node:net';
import { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import { readNetworks } from '../limits/address-list.ts';

const proxiesText = 'must be addresses or networks such as 10.0.0.0/8, separated by commas';

/** Canonical networks; undefined: one of the texts is none. */
const networksOf = (texts: readonly string[]): string[] | undefined => {
  try {
    return readNetworks(texts);
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
};

const isHttpsOrigin = (text: string): boolean =>
  URL.canParse(text) && new URL(text).origin === text && text.startsWith('https:') && !isIPv6(text);

export const certificateSettings = z.strictObject({
  client_certificates: z.enum(['off', 'on']).default('off').meta({
    description:
      '`on` authenticates clients by their TLS certificate and binds tokens to it (RFC 8705); the public listener then requests certificates and refuses none in the handshake',
    env: 'ORDERPASS_CLIENT_CERTIFICATES',
  }),
  client_certificate_proxies: z
    .preprocess(
      (value) => (typeof value === 'string' ? value.split(',').filter((part) => part.trim() !== '') : value),
      z
        .array(z.string())
        .refine((texts) => texts.length === 0 || networksOf(texts) !== undefined, proxiesText)
        .transform((texts) => (texts.length === 0 ? [] : (networksOf(texts) ?? []))),
    )
    .default([])
    .meta({
      description:
        'Addresses of your proxies that end TLS and name the certificate of the client in Client-Cert (RFC 9440); from every other address the field is ignored',
      env: 'ORDERPASS_CLIENT_CERTIFICATE_PROXIES',
    }),
  mtls_origin: z.string().refine(isHttpsOrigin, 'must be https://host[:port] without a path').optional().meta({
    description:
      'Address at which certificates are requested, where it is not the public one: mtls_endpoint_aliases of the metadata',
    env: 'ORDERPASS_MTLS_ORIGIN',
  }),
});

export type CertificateSettings = z.infer<typeof certificateSettings>;
