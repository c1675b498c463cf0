/** A real SMTP server on loopback that keeps the mails which it takes. */
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { until } from '../../support/until.ts';

export type ReceivedMail = { from: string; to: string[]; raw: string; subject: string; text: string };

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;

/** `account`: the only one that may log in. */
export const startMailServer = async (account: { user: string; password: string }) => {
  const mails: ReceivedMail[] = [];
  const refused = new Set<string>();
  let silent = false;
  /** Mails that were received in full while the answer was held. */
  const unanswered: ReceivedMail[] = [];
  let holdsAnswer = false;
  let answerHeld = (): void => undefined;
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    logger: false,
    onAuth: ({ username, password }, _session, done) => {
      if (username === account.user && password === account.password) done(null, { user: username });
      else done(new Error('wrong account'));
    },
    onRcptTo: ({ address }, _session, done) => {
      if (!silent) done(refused.has(address) ? new Error(`no such mailbox ${address}`) : undefined);
    },
    onData: (stream, session, done) => {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        const raw = Buffer.concat(parts).toString();
        const from = session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address;
        const mail = { from, to: session.envelope.rcptTo.map(({ address }) => address), raw, ...read(raw) };
        if (holdsAnswer) {
          unanswered.push(mail);
          answerHeld = done;
          return;
        }
        mails.push(mail);
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://${encodeURIComponent(account.user)}:${encodeURIComponent(account.password)}@127.0.0.1:${port}`,
    mails,
    unanswered,
    /** Receives mails and answers none from now on. */
    holdAnswer: (on: boolean): void => {
      holdsAnswer = on;
    },
    /** Answers the last of them. */
    answerHeld: (): void => answerHeld(),
    /** Refuses mail to this address from now on. */
    refuse: (address: string) => refused.add(address),
    /** Answers no recipient from now on. */
    hold: (on: boolean): void => {
      silent = on;
    },
    /** The newest mail to the address, when there are at least `count`. */
    mailTo: async (address: string, count = 1): Promise<ReceivedMail> => {
      const found = () => mails.filter(({ to }) => to.includes(address));
      await until(() => found().length >= count);
      return found().at(-1) as ReceivedMail;
    },
    close: () => new Promise<void>((resolve) => server.close(resolve)),
  };
};

const read = (raw: string): { subject: string; text: string } => {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const field = (name: string): string =>
    new RegExp(`^${name}: ?(.*(?:\r\n[ \t].*)*)`, 'im').exec(head)?.[1]?.replaceAll(/\r\n[ \t]/g, ' ') ?? '';
  const body = rest.join('\r\n\r\n');
  const encoding = field('content-transfer-encoding').toLowerCase();
  const text =
    encoding === 'base64'
      ? Buffer.from(body, 'base64').toString()
      : encoding === 'quoted-printable'
        ? unquote(body)
        : body;
  return { subject: field('subject'), text: text.replaceAll('\r\n', '\n') };
};

const unquote = (text: string): string =>
  Buffer.from(
    text
      .replaceAll(/=\r?\n/g, '')
      .replaceAll(/=([0-9A-F]{2})/g, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString();
