/** Settings of proof of possession. */
import { z } from 'zod';
import { type Profile, profiles } from './profile.ts';

export const dpopSettings = z.strictObject({
  dpop: z.enum(['off', 'on', 'nonce']).default('off').meta({
    description:
      '`on` binds tokens to the key of clients that send a DPoP proof (RFC 9449); `nonce` also wants a nonce of this server in each proof',
    env: 'ORDERPASS_DPOP',
  }),
});

export type DpopSettings = z.infer<typeof dpopSettings> & { profile: Profile };

/** A profile that wants bound tokens turns DPoP on. */
export const dpopMode = ({ dpop, profile }: DpopSettings): 'off' | 'on' | 'nonce' =>
  dpop === 'off' && profiles[profile].boundTokensOnly ? 'on' : dpop;
