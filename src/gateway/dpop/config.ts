/** Settings of proof of possession. */
import { z } from 'zod';

export const dpopSettings = z.strictObject({
  dpop: z.enum(['off', 'on', 'nonce']).default('off').meta({
    description:
      '`on` binds tokens to the key of clients that send a DPoP proof (RFC 9449); `nonce` also wants a nonce of this server in each proof',
    env: 'ORDERPASS_DPOP',
  }),
});

export type DpopSettings = z.infer<typeof dpopSettings>;
