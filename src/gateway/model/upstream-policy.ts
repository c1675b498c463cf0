/** The members of an upstream in the file of routes: where it is, and the policy towards it. */
import { z } from 'zod';
import { mayBePassed } from './claimed-headers.ts';
import { identityMember } from './upstream-identity.ts';

/** Names of upstreams, in the settings and in the file of routes. */
export const upstreamName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, 'a name of lower-case letters, digits and hyphens');

/** `http://host[:port]` or `https://host[:port]`. */
export const isUpstreamUrl = (value: string): boolean => {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.origin === value.replace(/\/$/, '');
};

const address = z.string().refine(isUpstreamUrl, 'must be http://host[:port] or https://host[:port], without a path');

export const upstreamPolicy = z.strictObject({
  addresses: z.array(address).min(1).max(100).optional().meta({
    description: 'Where the service is: addresses such as `http://10.0.0.5:8081`. Those of `ORDERPASS_UPSTREAMS` win',
  }),
  identity: identityMember,
  passHeaders: z
    .array(z.string().refine(mayBePassed, 'a field in lower case that the gateway drops by default and does not set'))
    .default([])
    .meta({
      description:
        'Fields with claims of callers, such as `x-forwarded-user`, that this upstream gets although the gateway drops them by default',
    }),
});

export type UpstreamPolicy = z.infer<typeof upstreamPolicy>;

/** Origins. Empty: the file names none. */
export const addressesIn = ({ addresses = [] }: Pick<UpstreamPolicy, 'addresses'>): string[] =>
  addresses.map((url) => new URL(url).origin);
