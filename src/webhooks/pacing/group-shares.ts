/**
 * What the endpoints of one host, and those of one tenant, hold of the slots of a worker. They often stop answering together, and
 * each endpoint is known as slow only after an attempt of its own. Without these shares the attempts to one host that hangs would use
 * every slot for as long as it has endpoints that were not tried since.
 */
import { sharing } from './bounds.ts';

export type Target = { tenant: string; url: string };

/** Which slots: those of quick and unknown endpoints, or those of slow receivers. */
export type SharedKind = 'usual' | 'slow';

type Group = { name: string; share: Share };

/** In slots for slow receivers: attempts of a group from which it leaves slots to others, and how many. */
type Share = { leavesFrom: number } & Record<SharedKind, number>;

export type Groups = readonly Group[];

export const noGroups: Groups = [];

export type GroupShares = {
  groupsOf(target: Target): Groups;
  add(groups: Groups): void;
  drop(groups: Groups): void;
  /**
   * True when an endpoint of these groups gets none of these slots now. `freeSlow`: free slots for slow receivers. `planned`: attempts
   * that are about to be added.
   */
  mustLeave(groups: Groups, kind: SharedKind, freeSlow: number, planned?: ReadonlyMap<string, number>): boolean;
};

export const createGroupShares = (slowSlotsMax: number): GroupShares => {
  const held = new Map<string, number>();
  const sharesOf = (part: (typeof sharing)[keyof typeof sharing]): Share => ({
    leavesFrom: slowSlotsMax * part.leavesFrom,
    usual: slowSlotsMax * part.leftByUsual,
    slow: slowSlotsMax * part.leftBySlow,
  });
  const [ofHost, ofTenant] = [sharesOf(sharing.host), sharesOf(sharing.tenant)];
  return {
    groupsOf: ({ tenant, url }) => [
      { name: `host ${URL.canParse(url) ? new URL(url).host : url}`, share: ofHost },
      { name: `tenant ${tenant}`, share: ofTenant },
    ],
    add: (groups) => {
      for (const { name } of groups) held.set(name, (held.get(name) ?? 0) + 1);
    },
    drop: (groups) => {
      for (const { name } of groups) {
        const left = (held.get(name) ?? 0) - 1;
        if (left > 0) held.set(name, left);
        else held.delete(name);
      }
    },
    mustLeave: (groups, kind, freeSlow, planned) =>
      groups.some(
        ({ name, share }) =>
          freeSlow < share[kind] && (held.get(name) ?? 0) + (planned?.get(name) ?? 0) >= share.leavesFrom,
      ),
  };
};
