/**
 * Whether a request carries a Bearer credential, valid or not: this alone selects dialect a. It reads the raw request,
 * since a request may be refused before its credential is read. It runs only for refusals.
 */

import type { Asked } from './exchange.ts';
import { firstAuthorization, readCredential } from './read-credential.ts';
import { isDpopScheme } from './read-proof.ts';

export const carriesBearer = ({ tokenInBody, req, search, dpop }: Asked): boolean =>
  tokenInBody || readCredential(req.rawHeaders, search, dpop).bearer;

/** The scheme of the challenge in a refusal to such a caller (RFC 9449 section 7.1). */
export const challengeScheme = ({ req, dpop }: Asked): 'Bearer' | 'DPoP' =>
  dpop && isDpopScheme(firstAuthorization(req.rawHeaders) ?? '') ? 'DPoP' : 'Bearer';
