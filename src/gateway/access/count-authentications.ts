/** Wraps the authentication step and counts its results. */
import { Fault } from '#src/contract/fault.ts';
import { TracedFault } from '../model/traced-fault.ts';
import type { Exchange, Step } from '../request/exchange.ts';

/** `kind`: kind of the credential. `outcome`: ok, or the reason of the refusal. Both are from bounded sets. */
export type CountAuthentication = (kind: string, outcome: string) => void;

export const countAuthentications = (identify: Step, count: CountAuthentication): Step => {
  // Returns nothing, because the pipeline awaits whatever a step returns.
  const accepted = ({ principal, within }: Exchange): void => {
    // Counted with the request that brought the tool call.
    if (within !== undefined) return;
    count(principal?.kind ?? 'none', 'ok');
  };
  const refused = (exchange: Exchange, thrown: unknown): never => {
    count(kindOf(exchange), reasonOf(thrown));
    throw thrown;
  };
  return (exchange) => {
    let pending: void | Promise<void>;
    try {
      pending = identify(exchange);
    } catch (thrown) {
      return refused(exchange, thrown);
    }
    if (pending === undefined) return accepted(exchange);
    return pending.then(
      () => accepted(exchange),
      (thrown: unknown) => refused(exchange, thrown),
    );
  };
};

const kindOf = ({ presented }: Exchange): string => {
  if (presented === undefined) return 'none';
  switch (presented.kind) {
    case 'client':
      return 'api_client';
    // Several credentials, or one in a form that is not accepted.
    case 'refused':
      return 'malformed';
    default:
      return presented.kind;
  }
};

const reasonOf = (thrown: unknown): string => {
  if (thrown instanceof TracedFault) return thrown.trace.reason;
  return thrown instanceof Fault ? thrown.code.toLowerCase() : 'internal';
};
