/** Counts how requests authenticated, around the step that does it. */
import { Fault } from '#src/contract/fault.ts';
import { TracedFault } from '../model/traced-fault.ts';
import type { Exchange, Step } from '../request/exchange.ts';

/** `kind`: of the credential. `outcome`: ok, or why not. Both from bounded sets. */
export type CountAuthentication = (kind: string, outcome: string) => void;

export const countAuthentications = (identify: Step, count: CountAuthentication): Step => {
  // Nothing is returned: whatever a step returns is waited for.
  const accepted = ({ principal }: Exchange): void => {
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
    // Several at once, or one in a form that is not taken.
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
