/** Settings of tokens and of their signing keys. */
import { z } from 'zod';
import { number } from '#src/platform/settings.ts';

export const oauthSettings = z.strictObject({
  token_lifetime: number(60, 86_400, 3_600).meta({
    description: 'Seconds that an access token is valid',
    env: 'ORDERPASS_TOKEN_LIFETIME_SECONDS',
  }),
  signing_key_days: number(1, 3_650, 90).meta({
    description: 'Age at which the key that signs access tokens is replaced, in days',
    env: 'ORDERPASS_SIGNING_KEY_DAYS',
  }),
});

export type OAuthSettings = z.infer<typeof oauthSettings>;
