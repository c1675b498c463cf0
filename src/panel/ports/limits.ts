/** The port of the limits of clients and keys; `src/app/panel/limit-ports.ts` implements it with the features. */

export type LimitName = 'minute' | 'burst' | 'day' | 'month' | 'concurrency';

type LimitedKind = 'client' | 'key';

/** Accepted requests and their units; requests that a limit refused; calls from an address outside the list. */
type UsedDay = { day: Date; requests: number; units: number; limited: number; elsewhere: number };

export type LimitedCaller = {
  name: string;
  /** A missing one is the default, or no limit. */
  limits: Readonly<Partial<Record<LimitName, number>>>;
  /** Networks that it may be used from; null: every address. */
  allowIp: readonly string[] | null;
  /** Units of the running day and month (UTC). */
  dayUnits: number;
  monthUnits: number;
  /** The last 30 days, today last. */
  days: readonly UsedDay[];
  /** The last call of these days from an address outside the list; null: there was none. */
  elsewhere: { calls: number; last: Date; address: string } | null;
};

/** Refuses a change by throwing; it gets what is stored under the lock of the credential. */
export type CheckBounds = (stored: Pick<LimitedCaller, 'limits' | 'allowIp'>) => void;

/** Throws Faults: NOT_FOUND, and VALIDATION_ERROR whose errors name the fields; and what a check throws. */
export type LimitPorts = {
  /** Units of a caller without limits of its own. */
  defaults: { minute: number; burst: number };
  show(kind: LimitedKind, id: string): Promise<LimitedCaller>;
  /** The canonical form of the networks, which `setAllowIp` stores. */
  readAllowIp(networks: readonly string[]): readonly string[];
  /** Null removes a limit. */
  setLimits(
    actor: string,
    kind: LimitedKind,
    id: string,
    limits: Record<LimitName, number | null>,
    check: CheckBounds,
  ): Promise<void>;
  /** Null: every address. */
  setAllowIp(
    actor: string,
    kind: LimitedKind,
    id: string,
    networks: readonly string[] | null,
    check: CheckBounds,
  ): Promise<void>;
};
