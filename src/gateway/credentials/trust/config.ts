/** Settings of the documents that the gateway reads from other servers. */
import { z } from 'zod';

const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

const isOrigin = (value: string): boolean => {
  if (!URL.canParse(value)) return false;
  const { origin, protocol, hostname } = new URL(value);
  return origin === value && (protocol === 'https:' || (protocol === 'http:' && loopbackHosts.has(hostname)));
};

/** `a,b` from the environment, a list from a file. */
const origins = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(',').map((one) => one.trim()) : value),
  z
    .array(z.string().refine(isOrigin, 'must be https://host[:port] without a path; plain http only for loopback'))
    .max(50),
);

export const trustSettings = z.strictObject({
  internal_issuers: origins.default([]).meta({
    description:
      'Origins of issuers in the own network, whose keys may be at private addresses: `https://kubernetes.default.svc.cluster.local`. All others must be https at public addresses',
    env: 'ORDERPASS_INTERNAL_ISSUERS',
  }),
});
