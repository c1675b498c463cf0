/**
 * Does a request carry a Bearer credential, valid or not? Only this decides between dialect a and the others. Asked of the
 * raw request, since it may have been refused before its credentials were looked at, and only when something is refused.
 */
import type { Exchange } from '../exchange.ts';
import { readCredential } from './read-credential.ts';

export const carriesBearer = ({ tokenInBody, req, search }: Exchange): boolean =>
  tokenInBody || readCredential(req.rawHeaders, search).bearer;
