/**
 * Interface 6.3, pure: one fault in its three dialects. Refusals of the gateway and of an upstream are both rendered here,
 * so a caller cannot tell (and need not know) which of them refused.
 */
import { envelopeOf, type Fault, faultTitle } from '#src/contract/fault.ts';
import { scopeTokensOf } from '#src/contract/scope-tokens.ts';
import { type DpopSettings, dpopMode } from '../dpop/config.ts';
import { profiles } from '../dpop/profile.ts';
import { ProofFault } from '../dpop/proof-fault.ts';
import { proofAlgorithms } from '../dpop/verify-proof.ts';
import { CheckFault } from './check-fault.ts';

/**
 * `dpop`: tokens may be bound to keys (RFC 9449), so challenges offer that too. `algs`: of their proofs. `resource`: path of a resource with metadata of
 * its own (RFC 9728 section 3.1); default: the origin as a whole.
 */
export type DialectSettings = { origin: string; realm: string; dpop: boolean; algs: string; resource?: string };

export const dialectsOf = (origin: string, settings: DpopSettings & { realm: string }): DialectSettings => ({
  origin,
  realm: settings.realm,
  dpop: dpopMode(settings) !== 'off',
  algs: proofAlgorithms(profiles[settings.profile]).join(' '),
});

export type RenderedFault = {
  contentType: string;
  body: string;
  /** WWW-Authenticate, where the answer needs one. */
  challenge: string | undefined;
};

export const jsonType = 'application/json; charset=utf-8';
const problemType = 'application/problem+json';

/**
 * RFC 6750 section 3.1: the error of each status. It has one for 403, so a refusal that more scopes would not change has it too
 * (interface 6.3, A-024, A-026); its challenge differs by having no `scope`. A client of the Model Context Protocol,
 * which would ask for another token, gets such a refusal as the result of its call instead (edge/mcp/tool-result.ts).
 */
export const oauthErrors: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'invalid_token',
  403: 'insufficient_scope',
};

/** Fallback when sanitising leaves nothing printable. */
export const fixedSentences: Readonly<Record<number, string>> = {
  400: 'The request is not valid',
  401: 'The access token is not accepted here',
  403: 'This request is not allowed',
};

/** Dialect a answers these statuses and no others. */
export const isOAuthStatus = (status: number): boolean => oauthErrors[status] !== undefined;

/** RFC 9449 section 7.1. */
const algsOf = ({ algs }: DialectSettings): string => `algs="${algs}"`;

const descriptionCharactersMax = 512;
const partsMax = 3;

/**
 * Text within %x20-21 / %x23-5B / %x5D-7E, the characters of RFC 6749 section 5.2 that are also safe inside a quoted
 * string of a header: the same string goes into both, and no line break can ever reach a header.
 */
const sanitiseDescription = (text: string): string => {
  let clean = '';
  for (const sign of text
    .slice(0, descriptionCharactersMax * 4)
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/\r\n/g, '\n')) {
    if (clean.length === descriptionCharactersMax) break;
    if (sign === '"') clean += "'";
    else if (sign === '\\') clean += '/';
    else if (/^[\t\n\v\f\r\u0085\u2028\u2029]$/.test(sign)) clean += ' ';
    else clean += /^[ -~]$/.test(sign) ? sign : '?';
  }
  return clean;
};

/** `pointer: message`, at most three, for faults that name what is wrong; else the message. */
const descriptionOf = (fault: Fault): string => {
  const errors = fault.errors ?? [];
  if (errors.length === 0) return fault.publicText;
  return errors
    .slice(0, partsMax)
    .map(({ pointer, message }) => (pointer === '' ? message : `${pointer}: ${message}`))
    .join('; ');
};

const metadataOf = ({ origin, resource = '' }: DialectSettings): string =>
  `${origin}/.well-known/oauth-protected-resource${resource}`;

/** The scopes that a refusal demands; empty for every other refusal. */
export const missingScopesOf = ({ status, extra }: Fault): readonly string[] =>
  status === 403 ? scopeTokensOf(extra?.missing_scopes) : [];

type OAuthRendering = {
  /** False for a refusal of an upstream without a code of this interface: no page describes it, so there is no `error_uri`. */
  codeKnown?: boolean;
  scheme?: 'Bearer' | 'DPoP';
  /** Code that the upstream gave the refusal. Default: the code of the fault. */
  code?: string;
};

/**
 * Dialect a. RFC 6749 section 5.2 allows further members: `code`, `errors` and `missing_scopes` are those of the other
 * dialects, so that a program can distinguish refusals that share one `error`.
 */
export const renderOAuth = (
  fault: Fault,
  requestId: string,
  settings: DialectSettings,
  { codeKnown = true, scheme = 'Bearer', code = fault.code }: OAuthRendering = {},
): RenderedFault => {
  const error = oauthErrorOf(fault);
  const sanitised = sanitiseDescription(descriptionOf(fault));
  const description = sanitised.trim() === '' ? (fixedSentences[fault.status] ?? '') : sanitised;
  const missing = missingScopesOf(fault);
  const scope = missing.length > 0 ? `scope="${missing.join(' ')}", ` : '';
  return {
    contentType: jsonType,
    body: JSON.stringify({
      error,
      error_description: description,
      ...(codeKnown ? { error_uri: `${settings.origin}/docs/errors#${fault.code}` } : undefined),
      code,
      ...(fault.errors === undefined ? undefined : { errors: fault.errors }),
      ...(missing.length > 0 ? { missing_scopes: missing } : undefined),
      request_id: requestId,
    }),
    challenge: `${scheme} realm="${settings.realm}", error="${error}", error_description="${description}", ${scope}resource_metadata="${metadataOf(settings)}"${scheme === 'DPoP' ? `, ${algsOf(settings)}` : ''}`,
  };
};

const oauthErrorOf = (fault: Fault): string => {
  if (fault instanceof ProofFault || fault instanceof CheckFault) return fault.oauthError;
  return oauthErrors[fault.status] ?? 'invalid_request';
};

/** A challenge without `error`, for requests without a token (RFC 6750 section 3.1). */
const plainChallenge = (settings: DialectSettings): string =>
  `Bearer realm="${settings.realm}", resource_metadata="${metadataOf(settings)}"${settings.dpop ? `, DPoP realm="${settings.realm}", ${algsOf(settings)}` : ''}`;

const challengeFor = (status: number, settings: DialectSettings): string | undefined =>
  status === 401 ? plainChallenge(settings) : undefined;

/** Dialect b. */
export const renderEnvelope = (fault: Fault, requestId: string, settings: DialectSettings): RenderedFault => ({
  contentType: jsonType,
  body: JSON.stringify(envelopeOf(fault, requestId)),
  challenge: challengeFor(fault.status, settings),
});

/** Dialect c, RFC 9457. */
export const renderProblem = (fault: Fault, requestId: string, settings: DialectSettings): RenderedFault => {
  const own = {
    type: `${settings.origin}/docs/errors#${fault.code}`,
    title: faultTitle(fault.code),
    status: fault.status,
    detail: fault.publicText,
    instance: `urn:orderpass:request:${requestId}`,
    code: fault.code,
    ...(fault.errors === undefined ? undefined : { errors: fault.errors }),
  };
  return {
    contentType: problemType,
    // Members of a service's envelope may have the names of these, in another sense: its `status` may be a word.
    body: JSON.stringify({ ...own, ...fault.extra, ...own, request_id: requestId }),
    challenge: challengeFor(fault.status, settings),
  };
};

export const wantsProblem = (accept: string | undefined): boolean => namesType(accept, problemType);

/** True when `Accept` names the type itself with a quality above zero; wildcards do not count. */
export const namesType = (accept: string | undefined, wanted: string): boolean => {
  if (accept === undefined) return false;
  return accept.split(',').some((range) => {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (type !== wanted) return false;
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return quality === undefined || Number(quality.slice(2)) > 0;
  });
};
