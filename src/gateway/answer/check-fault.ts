/**
 * A refusal of /auth/check for nginx, which understands 401 and 403 only: 403, although the operation itself would answer 400,
 * 404, 405, 413, 415 or 429. A Bearer caller gets `invalid_request` with the code of the real reason, since
 * `insufficient_scope` would make it get another token, which could not help.
 */
import { Fault, type FaultOptions } from '#src/contract/fault.ts';

export class CheckFault extends Fault {
  /** `error` of the OAuth dialect, instead of the default of the status. */
  readonly oauthError = 'invalid_request';
  constructor({ code, publicText, errors, extra, headers }: Fault) {
    const options: FaultOptions = {
      status: 403,
      ...(errors === undefined ? undefined : { errors }),
      ...(extra === undefined ? undefined : { extra }),
      ...(headers === undefined ? undefined : { headers }),
    };
    super(code, code === 'INVALID_ACTION' ? `${publicText}: the path is not in the route table` : publicText, options);
  }
}
