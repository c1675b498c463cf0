/**
 * Notices for users who asked for them, in two steps that may run on several workers. `decide` writes one row for each happening,
 * user and channel; the key of the row makes it the only one. `send` takes due rows for a while and marks them afterwards. A
 * worker that is killed between the steps, or during a send, leaves rows that are due again; the second copy of a mail that
 * was taken and not marked has the same Message-ID, and that of a webhook the same id.
 */
import type { Kysely } from 'kysely';
import { type Clock, dayMs, minuteMs, unixSeconds } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { mailLanguage } from '../mail/mail-texts.ts';
import { atOnceMax, lateAnswerMs, type Mailer } from '../mail/mailer.ts';
import { isNoticeKind, mayGet, type NoticeKind, type NoticeSources } from './notice.ts';
import { secretLabel, urlLabel } from './notice-settings.ts';
import {
  chosenKinds,
  claimDue,
  type DueNotice,
  decideNotices,
  delayNotice,
  dropOldNotices,
  finishNotice,
} from './notice-store.ts';
import { noticeText } from './notice-texts.ts';

/** Posts to an address under the rules of webhooks. True: the receiver took it. Never rejects. */
type NoticePost = (url: string, headers: Record<string, string>, body: string, signal: AbortSignal) => Promise<boolean>;

/** The signature `v1` of Standard Webhooks. */
type SignNotice = (secret: string, parts: { id: string; timestampSeconds: number; body: string }) => string;

type NoticesDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'open' | 'digest'>;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
  mailer: Mailer | undefined;
  post: NoticePost;
  sign: SignNotice;
  sources: NoticeSources;
  /** Public origin of the server. */
  origin: string;
};

const lookEveryMs = 15_000;
/** Longer than the bound of one attempt together with its wait. */
const leaseMs = 2 * minuteMs;
const attemptsMax = 8;
const keptDays = 60;

export const createNotices = (deps: NoticesDeps) => {
  const { db, clock, log, sources } = deps;
  const logged = async (about: { kind?: NoticeKind }, step: () => Promise<void>): Promise<void> => {
    try {
      await step();
    } catch (error) {
      log.warn({ err: error, ...about }, 'notices could not be decided or sent');
    }
  };
  const decide = async (): Promise<void> => {
    // A source that cannot be read must not keep back the notices of other kinds.
    for (const kind of await chosenKinds(db))
      await logged({ kind }, async () => {
        const now = clock.now();
        const found = await sources[kind](now);
        if (found.length > 0) await decideNotices(db, kind, found, now);
      });
  };
  const sendOne = createSendOne(deps);
  const send = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const now = clock.now();
      const due = await claimDue(db, now, new Date(now.getTime() + leaseMs), atOnceMax);
      if (due.length === 0) return;
      await Promise.all(due.map((notice) => sendOne(notice, signal)));
    }
  };
  const service: Service = {
    name: 'staff-notices',
    run: async (signal) => {
      while (!signal.aborted) {
        await logged({}, decide);
        await logged({}, () => send(signal));
        await logged({}, () => dropOldNotices(db, new Date(clock.now().getTime() - keptDays * dayMs)));
        await pause(lookEveryMs, signal);
      }
    },
  };
  return { decide, send, service };
};

const createSendOne = ({ db, box, clock, log, mailer, post, sign, origin }: NoticesDeps) => {
  /** Of both secrets during the overlap of a rotation; no header when the address has no secret yet. */
  const signatureOf = (notice: DueNotice, parts: Parameters<SignNotice>[1]): Record<string, string> => {
    const { secret, previous_secret: previous, previous_secret_ends: ends } = notice;
    const secrets = [secret, ends !== null && ends > clock.now() ? previous : null].filter((one) => one !== null);
    if (secrets.length === 0) return {};
    const signatures = secrets.map((sealed) => sign(box.open(sealed, secretLabel(notice.user_id)), parts));
    return { 'webhook-signature': signatures.join(' ') };
  };
  const deliver = async (notice: DueNotice, signal: AbortSignal): Promise<boolean> => {
    const id = box.digest(`notice ${notice.user_id} ${notice.key} ${notice.channel}`).toString('hex').slice(0, 32);
    const facts = JSON.parse(notice.facts) as Record<string, string>;
    const { kind } = notice;
    const { subject, text } = noticeText(mailLanguage(notice.language ?? undefined), { kind, facts, origin });
    if (notice.channel === 'mail')
      return (
        (await mailer?.send({
          ...{ to: notice.email, subject, text, signal },
          id: `${id}@${new URL(origin).hostname}`,
          waitMs: lateAnswerMs,
        })) === 'sent'
      );
    if (notice.url === null) return false;
    const body = JSON.stringify({
      id,
      type: kind,
      timestamp: notice.created_at.toISOString(),
      text: `${subject}\n\n${text}`,
      data: facts,
    });
    const timestampSeconds = unixSeconds(clock.now());
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestampSeconds),
      ...signatureOf(notice, { id, timestampSeconds, body }),
    };
    return post(box.open(notice.url, urlLabel(notice.user_id)), headers, body, signal);
  };
  return async (notice: DueNotice, signal: AbortSignal): Promise<void> => {
    const isDropped =
      !notice.is_wanted ||
      (notice.channel === 'mail' && mailer === undefined) ||
      !isNoticeKind(notice.kind) ||
      !mayGet(notice.role, notice.kind);
    if (isDropped) return finishNotice(db, notice, 'dropped', clock.now());
    // An address or secret that cannot be opened fails as often as it is tried, so it counts as an attempt.
    const isSent = await deliver(notice, signal).catch((error: unknown) => {
      log.warn({ err: error, user_id: notice.user_id, kind: notice.kind }, 'a notice could not be made');
      return false;
    });
    const now = clock.now();
    if (isSent) return finishNotice(db, notice, 'sent', now);
    if (notice.attempts < attemptsMax)
      return delayNotice(db, notice, new Date(now.getTime() + 2 ** notice.attempts * minuteMs));
    log.warn({ user_id: notice.user_id, kind: notice.kind, channel: notice.channel }, 'a notice was given up');
    return finishNotice(db, notice, 'failed', now);
  };
};
