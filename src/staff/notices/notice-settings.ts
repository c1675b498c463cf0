/** What a user wants to be notified of, and where. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { RecordEvents } from '../accounts/account-events.ts';
import type { Role } from '../accounts/role.ts';
import { lockUser } from '../accounts/user-store.ts';
import { mayGet, type NoticeKind, noticeKinds } from './notice.ts';
import { readKinds, readTarget, replaceChoices } from './notice-store.ts';

type NoticeSettingsDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'seal'>;
  clock: Clock;
  record: RecordEvents;
  /** Undefined: notices may be posted to the address. */
  urlProblem: (url: string) => Promise<string | undefined>;
};

export type NoticeChoices = {
  kinds: readonly NoticeKind[];
  mail: boolean;
  /** Of the stored address; the rest of it is not shown. */
  urlOrigin: string | undefined;
};

/** `url`: a new address; undefined keeps the stored one. */
type GivenChoices = { kinds: readonly string[]; mail: boolean; url: string | undefined; removeUrl: boolean };

/** The label under which the address is sealed. */
export const urlLabel = (userId: string): string => `panel-notice-url:${userId}`;

export const createNoticeSettings = ({ db, box, clock, record, urlProblem }: NoticeSettingsDeps) => ({
  /** The kinds that a user of this role may choose. */
  kindsFor: (role: Role): NoticeKind[] => noticeKinds.filter((kind) => mayGet(role, kind)),
  read: async (userId: string): Promise<NoticeChoices> => {
    const { mail, urlOrigin } = await readTarget(db, userId);
    return { kinds: await readKinds(db, userId), mail, urlOrigin };
  },
  /** False: nothing may be posted to the address, and nothing was changed. */
  save: async (userId: string, given: GivenChoices, address: string): Promise<boolean> => {
    if (given.url !== undefined && (await urlProblem(given.url)) !== undefined) return false;
    return inTransaction(db, async (tx) => {
      const user = await lockUser(tx, userId);
      if (user === undefined) return false;
      const before = await readTarget(tx, userId);
      const kinds = noticeKinds.filter((kind) => given.kinds.includes(kind) && mayGet(user.role, kind));
      const stored = given.removeUrl ? {} : { url: before.url, urlOrigin: before.urlOrigin };
      const { url, urlOrigin } =
        given.url === undefined
          ? { url: undefined, urlOrigin: undefined, ...stored }
          : { url: box.seal(given.url, urlLabel(userId)), urlOrigin: new URL(given.url).origin };
      await replaceChoices(tx, userId, { kinds, mail: given.mail, url, urlOrigin });
      await record(tx, clock.now(), {
        action: 'user.notices_changed',
        outcome: 'success',
        actor: `panel:${userId}`,
        address,
        // The address itself may hold a secret.
        details: { kinds, mail: given.mail, receiver: urlOrigin ?? null },
      });
      return true;
    });
  },
});
