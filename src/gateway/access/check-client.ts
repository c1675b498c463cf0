/** Decides whether a client with a secret is accepted (interface 3.2), and counts wrong secrets (interface 9.2). */
import type { IncomingMessage } from 'node:http';
import type { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { type ClientRecord, provesClient } from '../credentials/lookup/records.ts';
import type { RulesOf } from '../dpop/profile.ts';
import type { FailureBudget } from '../limits/failure-budget.ts';
import type { SourceOf } from '../limits/source-address.ts';
import { boundTokenNeeded, tooMany, tooManyFailures } from '../model/faults.ts';
import type { Principal } from '../model/principal.ts';
import { TracedFault } from '../model/traced-fault.ts';
import { clientRefused, hadSecret, refuseQuarantined } from './credential-refusals.ts';
import { type Admitted, endedPrincipal, isClientLive } from './ended-principal.ts';
import { follow } from './follow.ts';
import type { Principals } from './principals.ts';

type CheckClientDeps = {
  box: Pick<SecretBox, 'digest'>;
  clock: Clock;
  failures: Pick<FailureBudget, 'blockedSeconds' | 'countFailure'>;
  sourceOf: SourceOf;
  principals: Pick<Principals, 'ofClient'>;
  rulesOf: RulesOf;
};

/** `record`: undefined when there is no such client. Throws, or rejects with, INVALID_AUTH or UNAUTHORIZED. */
export type CheckClient = (
  presented: { id: string; secret: string },
  record: ClientRecord | undefined,
  req: IncomingMessage,
  admitted: Admitted,
) => Principal | Promise<Principal>;

/** Failures are read right before the secret is compared, so that guesses sent side by side do not slip through. */
export const createCheckClient = ({
  box,
  clock,
  failures,
  sourceOf,
  principals,
  rulesOf,
}: CheckClientDeps): CheckClient => {
  return ({ id, secret }, record, req, admitted) => {
    const source = sourceOf(req);
    const blocked = failures.blockedSeconds(id, source);
    if (blocked !== undefined) throw blockedByFailures(record, blocked);
    const proof = provesClient(box, record, secret, clock.now().getTime());
    if (
      admitted === 'ended' &&
      record !== undefined &&
      !isClientLive(record, proof) &&
      hadSecret(box, record, secret)
    ) {
      return endedPrincipal('api_client', id);
    }
    if (proof !== undefined && record !== undefined) {
      if (!rulesOf(record).sharedSecrets) throw boundTokenNeeded();
      refuseQuarantined(id, 'API client', record.quarantinedReason);
      refuseQuarantined(id, 'client secret', proof.quarantinedReason);
      return principals.ofClient(record, proof);
    }
    return follow(failures.countFailure(id, source), (beyond) => {
      throw beyond === undefined ? clientRefused(box, record, secret) : blockedByFailures(record, beyond);
    });
  };
};

const blockedByFailures = (record: ClientRecord | undefined, seconds: number): Fault => {
  const fault = tooManyFailures(seconds);
  if (record === undefined) return fault;
  const trace = { callerId: record.clientId, reason: 'rate_limited', detail: { retry_after: seconds } } as const;
  return new TracedFault(fault.code, fault.publicText, trace, tooMany(seconds, 'failures'));
};
