/**
 * A refusal of /auth/check that another proxy can take: 403, though the operation itself would have said 400, 404, 405, 413,
 * 415 or 429. A Bearer caller gets `invalid_request` with the code of the real reason, since `insufficient_scope` would
 * send it for another token that could not help.
 */
import { Fault, type FaultOptions } from '#src/contract/fault.ts';

export class CheckFault extends Fault {
  /** Word of the OAuth dialect, instead of the one that its status has. */
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
