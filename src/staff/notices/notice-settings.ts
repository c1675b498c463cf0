/** What a user wants to be notified of, and where. */
import type { Kysely } from 'kysely';
import { type Clock, hourMs } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { RecordEvents } from '../accounts/account-events.ts';
import type { Role } from '../accounts/role.ts';
import { lockUser } from '../accounts/user-store.ts';
import { mayGet, type NoticeKind, noticeKinds } from './notice.ts';
import { readKinds, readTarget, replaceChoices, replaceTarget, type Target } from './notice-store.ts';

/** Rules for addresses that notices are posted to. */
export type NoticeUrls = {
  /** Undefined: notices may be posted to the address. */
  problemOf: (url: string) => Promise<string | undefined>;
  /** A new secret for the signatures of Standard Webhooks. */
  makeSecret: () => string;
};

type NoticeSettingsDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'seal'>;
  clock: Clock;
  record: RecordEvents;
  noticeUrls: NoticeUrls;
};

export type NoticeChoices = {
  kinds: readonly NoticeKind[];
  mail: boolean;
  /** Of the stored address; the rest of it is not shown. */
  urlOrigin: string | undefined;
  /** The address has a secret, which signs what is posted to it. */
  isSigned: boolean;
  /** The secret before the present one signs too until then. */
  previousSecretEnds: Date | undefined;
};

/** `url`: a new address; undefined keeps the stored one. */
type GivenChoices = { kinds: readonly string[]; mail: boolean; url: string | undefined; removeUrl: boolean };

/** `secret`: made for a new address; it cannot be read again. `refused`: nothing may be posted to the address, and nothing was changed. */
type Saved = { kind: 'refused' } | { kind: 'saved'; secret: string | undefined };

/** `absent`: no address is stored. `overlap_running`: the secret before the present one signs too, and nothing was changed. */
type NoticeRotation = { secret: string } | 'absent' | 'overlap_running';

/** The labels under which the address and its secrets are sealed. */
export const urlLabel = (userId: string): string => `panel-notice-url:${userId}`;
export const secretLabel = (userId: string): string => `panel-notice-secret:${userId}`;

/** The secret before a rotation signs beside the new one for so long. */
const overlapMs = 24 * hourMs;

const nowhere = {
  mail: false,
  url: undefined,
  urlOrigin: undefined,
  secret: undefined,
  previousSecret: undefined,
  previousSecretEnds: undefined,
} as const;

export const createNoticeSettings = ({ db, box, clock, record, noticeUrls }: NoticeSettingsDeps) => ({
  /** The kinds that a user of this role may choose. */
  kindsFor: (role: Role): NoticeKind[] => noticeKinds.filter((kind) => mayGet(role, kind)),
  read: async (userId: string): Promise<NoticeChoices> => {
    const { mail, urlOrigin, secret, previousSecretEnds: ends } = await readTarget(db, userId);
    const previousSecretEnds = ends !== undefined && ends > clock.now() ? ends : undefined;
    return { kinds: await readKinds(db, userId), mail, urlOrigin, isSigned: secret !== undefined, previousSecretEnds };
  },
  save: async (userId: string, given: GivenChoices, address: string): Promise<Saved> => {
    if (given.url !== undefined && (await noticeUrls.problemOf(given.url)) !== undefined) return { kind: 'refused' };
    return inTransaction(db, async (tx) => {
      const user = await lockUser(tx, userId);
      if (user === undefined) return { kind: 'refused' };
      const before = await readTarget(tx, userId);
      const kinds = noticeKinds.filter((kind) => given.kinds.includes(kind) && mayGet(user.role, kind));
      const secret = given.url === undefined ? undefined : noticeUrls.makeSecret();
      const target: Target =
        given.url === undefined || secret === undefined
          ? given.removeUrl
            ? nowhere
            : before
          : {
              ...nowhere,
              url: box.seal(given.url, urlLabel(userId)),
              urlOrigin: new URL(given.url).origin,
              secret: box.seal(secret, secretLabel(userId)),
            };
      await replaceChoices(tx, userId, { ...target, kinds, mail: given.mail });
      await record(tx, clock.now(), {
        action: 'user.notices_changed',
        outcome: 'success',
        actor: `panel:${userId}`,
        address,
        // The address itself may hold a secret.
        details: { kinds, mail: given.mail, receiver: target.urlOrigin ?? null },
      });
      return { kind: 'saved', secret };
    });
  },
  /**
   * A new secret; the former one signs too for a day. No other rotation is made within that day: it would end the secret that the
   * receiver may still have.
   */
  rotateSecret: (userId: string, address: string): Promise<NoticeRotation> =>
    inTransaction(db, async (tx) => {
      const user = await lockUser(tx, userId);
      const before = await readTarget(tx, userId);
      if (user === undefined || before.url === undefined) return 'absent';
      const now = clock.now();
      if (before.previousSecretEnds !== undefined && before.previousSecretEnds > now) return 'overlap_running';
      const secret = noticeUrls.makeSecret();
      await replaceTarget(tx, userId, {
        ...before,
        secret: box.seal(secret, secretLabel(userId)),
        previousSecret: before.secret,
        previousSecretEnds: before.secret && new Date(now.getTime() + overlapMs),
      });
      await record(tx, now, {
        action: 'user.notice_secret_rotated',
        outcome: 'success',
        actor: `panel:${userId}`,
        address,
        details: { receiver: before.urlOrigin ?? null },
      });
      return { secret };
    }),
});
