/** Interface 9.2 at the OAuth endpoints: a client that used up its failures is refused without a check of its secret. */
import type { IncomingMessage } from 'node:http';
import type { FailureBudget } from '../limits/failure-budget.ts';
import type { SourceOf } from '../limits/source-address.ts';
import { firstAuthorization } from '../request/read-credential.ts';
import { NoClientAuthentication, slowDown } from './oauth-answers.ts';
import type { Form } from './read-token-request.ts';

export type LimitFailuresDeps = {
  failures: Pick<FailureBudget, 'blockedSeconds' | 'countFailure'>;
  sourceOf: SourceOf;
};

/** Runs `work`, which authenticates the client of the form, and counts when it fails with `invalid_client`. */
export type LimitFailures = <T>(req: IncomingMessage, form: Form, work: () => Promise<T>) => Promise<T>;

export const createLimitFailures = ({ failures, sourceOf }: LimitFailuresDeps): LimitFailures => {
  return async (req, form, work) => {
    const clientId = claimedClientId(req, form);
    const source = sourceOf(req);
    refuseWhile(failures.blockedSeconds(clientId, source));
    try {
      const result = await work();
      // Parallel guesses may have used up the budget while this one was checked.
      refuseWhile(failures.blockedSeconds(clientId, source));
      return result;
    } catch (error) {
      if (isFailedAuthentication(error)) refuseWhile(await failures.countFailure(clientId, source));
      throw error;
    }
  };
};

/** Counts one failure of an authenticated client, such as a wrong proof. Rejects when it exceeds the budget. */
export type CountFailure = (req: IncomingMessage, clientId: string) => Promise<void>;

export const createCountFailure = ({ failures, sourceOf }: LimitFailuresDeps): CountFailure => {
  return async (req, clientId) => refuseWhile(await failures.countFailure(clientId, sourceOf(req)));
};

const refuseWhile = (seconds: number | undefined): void => {
  if (seconds === undefined) return;
  throw slowDown(`Too many failed authentications; try again in ${seconds} s`, seconds, 'failures');
};

/** Errors of oidc-provider and OAuthRefusal both carry the error name of RFC 6749. */
const isFailedAuthentication = (error: unknown): boolean =>
  error instanceof Error &&
  'error' in error &&
  error.error === 'invalid_client' &&
  !(error instanceof NoClientAuthentication);

/** Unproven client id from the Basic header, the form, or the subject of an assertion; '' when there is none. */
export const claimedClientId = (req: IncomingMessage, form: Form): string => {
  const authorization = firstAuthorization(req.rawHeaders);
  if (authorization !== undefined && /^basic /i.test(authorization)) return idOfBasic(authorization.slice(6));
  const { client_id: id, client_assertion: assertion } = form;
  return id ?? (assertion === undefined ? '' : idOfAssertion(assertion));
};

/** Both parts are form-encoded (RFC 6749 section 2.3.1). */
const idOfBasic = (credentials: string): string => {
  const text = Buffer.from(credentials.trim(), 'base64').toString('latin1').split(':', 1)[0] ?? '';
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
};

const idOfAssertion = (assertion: string): string => {
  try {
    const { sub } = JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString()) as { sub?: unknown };
    return typeof sub === 'string' ? sub : '';
  } catch {
    return '';
  }
};
