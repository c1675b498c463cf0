/** Records allowed and refused requests in the audit. */
import type { Fault } from '#src/contract/fault.ts';
import { callerOf, secretOf, shownOf, strangerOf } from '../audit/event/audited-caller.ts';
import type { Fingerprint } from '../audit/event/fingerprint.ts';
import { createAllowedUses } from '../audit/record/allowed-uses.ts';
import type { Recorder } from '../audit/record/recorder.ts';
import type { AddressOf } from '../limits/source-address.ts';
import type { AllowedUse } from '../model/allowed-use.ts';

import { mayBeAnonymous, neededScopes } from '../model/route.ts';

import { SimulatedFault, TracedFault } from '../model/traced-fault.ts';
import type { Exchange, Step } from '../request/exchange.ts';
import type { Authenticate } from './authenticate.ts';
import { createCountProbe } from './count-probe.ts';

export type RecordDecision = {
  /** The last step of a decision. */
  allow: Step;
  /** Called when an allowed request is answered or its client is gone: records it as allowed, unless it was refused meanwhile. */
  settle(exchange: Exchange): void;
  /**
   * Records a refusal by the gateway, or with `reason` by the service behind it. Undefined: nothing to wait for. Otherwise
   * it resolves when the refusal is written. Refusals that are no denials are only counted.
   */
  refuse(exchange: Exchange, fault: Fault, reason?: string): Promise<void> | undefined;
};

type RecordDecisionDeps = {
  recorder: Pick<Recorder, 'describe' | 'assertRoom' | 'allow' | 'countFailed' | 'recordRefusal'>;
  fingerprint: Fingerprint;
  addressOf: AddressOf;
  /** For requests of operations that do not exist, whose credential the pipeline does not check. */
  authenticate: Authenticate;
  /** See CountProbeDeps. */
  probed: (exchange: Exchange, callerId: string) => void;
};

export const createRecordDecision = (deps: RecordDecisionDeps): RecordDecision => {
  const { recorder, fingerprint, addressOf } = deps;
  const countProbe = createCountProbe(deps);
  const useOf = createAllowedUses({ describe: recorder.describe, fingerprint, addressOf });

  /** Counts an allowed request that the upstream answered with 4xx. A 5xx is a failure of the upstream, not of the caller. */
  const countFailed = (exchange: Exchange, allowed: AllowedUse, { code, status }: Fault): void => {
    if (status >= 500) return;
    exchange.allowed = undefined;
    const { group, fingerprint: held, token_id } = allowed;
    const details = JSON.stringify({ code, status });
    const failed = { action: 'request.allowed', reason: code.toLowerCase(), details } as const;
    recorder.countFailed({ ...group.shared, fingerprint: held, token_id, ...failed }, exchange.requestId);
  };

  return {
    allow: (exchange) => {
      const { principal, route } = exchange;
      // A request without a caller is in the access log only: the audit says what credentials were used for.
      if (principal === undefined && mayBeAnonymous(route)) return;
      if (principal === undefined || route === undefined)
        throw new Error('cannot record an allowed request without a caller and a route');
      recorder.assertRoom();
      exchange.allowed = useOf(principal, route, exchange);
    },
    settle: (exchange) => {
      const { allowed } = exchange;
      if (allowed === undefined) return;
      exchange.allowed = undefined;
      recorder.allow(allowed, exchange.requestId);
    },
    refuse: (exchange, fault, reason) => {
      const { allowed, principal, presented } = exchange;
      const isSimulated = fault instanceof SimulatedFault;
      if (!isSimulated && !isDecision(exchange, fault)) {
        if (allowed !== undefined) countFailed(exchange, allowed, fault);
        else countProbe(exchange, fault);
        return undefined;
      }
      exchange.allowed = undefined;
      const shown = shownOf(presented, fault);
      const value = shown === undefined ? undefined : secretOf(shown);
      return recorder.recordRefusal({
        action: isSimulated ? 'request.simulated' : 'request.denied',
        outcome: isSimulated ? 'success' : 'failure',
        ...(principal === undefined ? strangerOf(presented, fault) : callerOf(principal)),
        reason: isSimulated ? fault.simulated : (reason ?? reasonOf(fault)),
        request_ids: [exchange.requestId],
        fingerprint: value === undefined ? null : fingerprint(value),
        route_id: exchange.route?.id ?? null,
        scopes: scopesAsked(exchange),
        address: addressOf(exchange.req) ?? null,
        details: detailsOf(fault, reason),
      });
    },
  };
};

const scopesAsked = ({ route, principal }: Exchange): readonly string[] =>
  route === undefined ? [] : neededScopes(route, principal?.scopes ?? new Set());

/** Only the upstream gives a `reason`. */
const detailsOf = ({ code, status, extra }: Fault, reason: string | undefined): string =>
  JSON.stringify({
    code,
    status,
    missing_scopes: extra?.missing_scopes,
    ...(reason !== undefined && { by: 'upstream' }),
  });

const statuses: ReadonlySet<number> = new Set([401, 403, 429]);

/** A 400 is a decision only when the credential was wrong; wrong parameters are not. */
const isDecision = (exchange: Exchange, { status }: Fault): boolean =>
  exchange.route !== undefined &&
  (statuses.has(status) ||
    (status === 400 && exchange.principal === undefined && exchange.presented?.kind === 'refused'));

const reasonOf = (fault: Fault): string =>
  fault instanceof TracedFault ? fault.trace.reason : fault.code.toLowerCase();
