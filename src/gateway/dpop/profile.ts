/**
 * What a security profile demands of clients, as one table. The checks read their numbers and lists here, so that a profile is a
 * row and no condition in the checks. `fapi2` is the FAPI 2.0 Security Profile (final) with client credentials; comments name its
 * sections.
 */
import { z } from 'zod';

export const profileSettings = z.strictObject({
  profile: z.enum(['standard', 'fapi2']).default('standard').meta({
    description:
      '`fapi2` holds every caller to the FAPI 2.0 Security Profile: signed assertions and bound tokens only, no API keys and no secrets; DPoP is then on',
    env: 'ORDERPASS_PROFILE',
  }),
});

export type Profile = z.infer<typeof profileSettings>['profile'];

/** Seconds by which a time that a client wrote may be ahead of the clock here. */
type ClockRule = { iat: number; nbf: number };

export type ProfileRules = {
  /** Callers may prove themselves by a secret of a client, or by an API key. */
  sharedSecrets: boolean;
  /** Clients may log in by an assertion of an issuer that they trust (interface 28), instead of one by their own key. */
  trustedIssuers: boolean;
  /** Every access token is bound to a key of its client. */
  boundTokensOnly: boolean;
  /** Algorithms of assertions and of DPoP proofs. */
  algorithms: readonly string[];
  /** `aud` of an assertion must be the issuer, as one string. Otherwise it may be the token endpoint, and a list of one. */
  issuerAudienceOnly: boolean;
  assertionAhead: ClockRule;
  proofAhead: ClockRule;
  /** The budget (limits.ts) that wrong proofs of one token draw from. */
  proofBudget: 'failures' | 'wrongProofs';
};

/** 5.3.2.1-13 wants 10 s accepted and more than 60 s refused; by its note 3, 30 s end all problems with clocks. */
const fapi2Ahead: ClockRule = { iat: 30, nbf: 30 };

export const profiles: Readonly<Record<Profile, ProfileRules>> = {
  standard: {
    sharedSecrets: true,
    trustedIssuers: true,
    boundTokensOnly: false,
    algorithms: ['ES256', 'EdDSA', 'Ed25519', 'PS256', 'RS256'],
    issuerAudienceOnly: false,
    // Libraries write the time of their own clock into `nbf`, and clocks of clients are seldom right to the second.
    assertionAhead: { iat: Number.POSITIVE_INFINITY, nbf: 30 },
    proofAhead: { iat: 60, nbf: 0 },
    proofBudget: 'failures',
  },
  fapi2: {
    // 5.3.2.1-6
    sharedSecrets: false,
    trustedIssuers: false,
    // 5.3.2.1-4
    boundTokensOnly: true,
    // 5.4.1-1; RFC 9864 registered Ed25519, which the note there allows.
    algorithms: ['ES256', 'EdDSA', 'Ed25519', 'PS256'],
    // 5.3.2.1-8
    issuerAudienceOnly: true,
    assertionAhead: fapi2Ahead,
    proofAhead: fapi2Ahead,
    proofBudget: 'wrongProofs',
  },
};

/** The rules for a client: those of the whole gateway, or of the profile that the client was switched to. */
export type RulesOf = (client: { fapi2Required?: boolean }) => ProfileRules;

export const createRulesOf = (profile: Profile): RulesOf => {
  const rules = profiles[profile];
  return ({ fapi2Required }) => (fapi2Required === true ? profiles.fapi2 : rules);
};
