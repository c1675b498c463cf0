/**
 * Does a request carry a Bearer credential, valid or not? Only this decides between dialect a and the others. Asked of the
 * raw request, since it may have been refused before its credentials were looked at, and only when something is refused.
 */

import type { Asked } from './exchange.ts';
import { readCredential } from './read-credential.ts';
import { isDpopScheme } from './read-proof.ts';

export const carriesBearer = ({ tokenInBody, req, search, dpop }: Asked): boolean =>
  tokenInBody || readCredential(req.rawHeaders, search, dpop).bearer;

/** Under which scheme a refusal challenges such a caller (RFC 9449 section 7.1). */
export const challengeScheme = ({ req, dpop }: Asked): 'Bearer' | 'DPoP' =>
  dpop && isDpopScheme(req.headers.authorization ?? '') ? 'DPoP' : 'Bearer';
