/**
 * The endpoints of deliveries that are leased and whose attempts have not started, by the version of the endpoint's row. An
 * endpoint may be removed, disabled or changed while deliveries to it are held ahead. The look asks twice a second whether these
 * versions are current, and a delivery of an earlier one is returned in place of its attempt.
 */
import { claiming } from '../pacing/bounds.ts';
import type { DueEndpoint } from '../queue/claim-store.ts';
import type { EndpointVersion } from '../queue/look-store.ts';

export type HeldVersion = EndpointVersion & { isEarlier: boolean; heldCount: number };

export type HeldVersions = {
  /** Call `drop` when the attempt starts, or when it is certain that it does not. */
  hold(endpoint: DueEndpoint): HeldVersion;
  drop(held: HeldVersion): void;
  /** Those that the look asks about. */
  current(): HeldVersion[];
  /** The endpoints have other versions by now. */
  markEarlier(versions: readonly HeldVersion[]): void;
  /** The endpoint was disabled, because of an attempt of this version. */
  markDisabled(endpoint: DueEndpoint): void;
};

export const createHeldVersions = (): HeldVersions => {
  const known = new Map<string, HeldVersion>();
  /** Versions that are not current, the oldest knowledge first. */
  const earlier: { key: string; knownMs: number }[] = [];
  const versionOf = ({ endpointUid, version }: DueEndpoint): HeldVersion => {
    const key = keyOf({ endpointUid, version });
    const found = known.get(key);
    if (found !== undefined) return found;
    const made = { endpointUid, version, isEarlier: false, heldCount: 0 };
    known.set(key, made);
    return made;
  };
  const mark = (one: HeldVersion): void => {
    if (one.isEarlier) return;
    one.isEarlier = true;
    earlier.push({ key: keyOf(one), knownMs: performance.now() });
  };
  /** By then no delivery that was leased before is sent any more. */
  const forget = (): void => {
    const endedMs = performance.now() - claiming.leaseMs;
    for (let [first] = earlier; first !== undefined && first.knownMs < endedMs; [first] = earlier) {
      known.delete(first.key);
      earlier.shift();
    }
  };
  return {
    hold: (endpoint) => {
      const held = versionOf(endpoint);
      held.heldCount += 1;
      return held;
    },
    drop: (held) => {
      held.heldCount -= 1;
      // An earlier version stays for a while: a lease of it that was taken before may be on its way.
      if (held.heldCount === 0 && !held.isEarlier) known.delete(keyOf(held));
    },
    current: () => {
      forget();
      return [...known.values()].filter(({ isEarlier }) => !isEarlier);
    },
    markEarlier: (versions) => versions.forEach(mark),
    markDisabled: (endpoint) => {
      mark(versionOf(endpoint));
      for (const one of known.values()) if (one.endpointUid === endpoint.endpointUid) mark(one);
    },
  };
};

const keyOf = ({ endpointUid, version }: EndpointVersion): string => `${endpointUid} ${version}`;
