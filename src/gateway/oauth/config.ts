/** Settings of tokens and of their signing keys. */
import { z } from 'zod';

export const oauthSettings = z.strictObject({
  token_lifetime: z.coerce.number().int().min(60).max(86_400).default(3_600).meta({
    description: 'Seconds that an access token is valid',
    env: 'ORDERPASS_TOKEN_LIFETIME_SECONDS',
  }),
  signing_key_days: z.coerce.number().int().min(1).max(3_650).default(90).meta({
    description: 'Age at which the key that signs access tokens is replaced, in days',
    env: 'ORDERPASS_SIGNING_KEY_DAYS',
  }),
});

export type OAuthSettings = z.infer<typeof oauthSettings>;
