/** Settings of the mail server that mail is handed to. */
import { z } from 'zod';

/** The address cannot be used because of this; undefined: it can. The text does not repeat the address, which may hold a password. */
const smtpProblem = (value: string): string | undefined => {
  if (!URL.canParse(value)) return 'must be smtp://USER:PASSWORD@HOST:PORT or smtps://…';
  const { protocol, hostname, pathname, hash, searchParams } = new URL(value);
  if (protocol !== 'smtp:' && protocol !== 'smtps:') return 'must begin with smtp:// or smtps://';
  if (hostname === '') return 'names no host';
  if ((pathname !== '' && pathname !== '/') || hash !== '') return 'must end after the port';
  const others = [...searchParams].filter(([name, text]) => name !== 'starttls' || text !== 'off');
  if (others.length > 0) return 'has an unknown parameter; the only one is starttls=off';
  if (protocol === 'smtps:' && searchParams.has('starttls')) return 'has starttls=off, which belongs to smtp://';
  if (!canDecode(new URL(value))) return 'has a user or a password with a wrong escape';
  return undefined;
};

const canDecode = ({ username, password }: URL): boolean => {
  try {
    decodeURIComponent(username);
    decodeURIComponent(password);
    return true;
  } catch {
    return false;
  }
};

/** `Name <local@domain>` or `local@domain`. */
const fromPattern =
  /^(?:[^<>"\p{Cc}]{1,100} <[^\s@"<>()\\,;:]{1,64}@[^\s@"<>()\\,;:]{1,190}>|[^\s@"<>()\\,;:]{1,64}@[^\s@"<>()\\,;:]{1,190})$/u;

export const mailSettings = z
  .strictObject({
    smtp_url: z
      .string()
      .max(2_000)
      .refine((text) => smtpProblem(text) === undefined, { error: ({ input }) => smtpProblem(String(input)) })
      .optional()
      .meta({
        description:
          'Mail server for invitations, password links and notices: smtp://USER:PASSWORD@HOST:PORT (STARTTLS, which only loopback and `?starttls=off` do without) or smtps://…. Without it the panel shows links instead of sending them',
        env: 'ORDERPASS_SMTP_URL',
        secret: true,
      }),
    smtp_from: z
      .string()
      .regex(fromPattern, 'must be an address such as panel@example.com or Orderpass <panel@example.com>')
      .optional()
      .meta({
        description: 'Sender of this mail: an address, or `Name <address>`',
        env: 'ORDERPASS_SMTP_FROM',
      }),
  })
  .superRefine(({ smtp_url, smtp_from }, context) => {
    if (smtp_url !== undefined && smtp_from === undefined)
      context.addIssue({ code: 'custom', path: ['smtp_from'], message: 'a mail server needs the sender of the mail' });
  });

export type MailSettings = z.infer<typeof mailSettings>;
