/** A one-time link on its way to the user: mailed, or shown once. */
import { type Answer, page, redirect } from '../../page/answer.ts';
import { type Html, html } from '../../page/html.ts';
import type { View } from '../../page/page.ts';
import type { LinkKind, OneTimeLink } from '../../ports/staff.ts';
import { message } from '../../view/layout.ts';
import { secretOnce } from '../../view/secret-once.ts';
import { time } from '../../view/time.ts';

/** Mails the link where the form asks for it. A link that was not mailed is shown, so that it is not lost. */
export const sendOrShowLink = async (
  view: View,
  { userId, email, ...link }: { userId: string; email: string } & OneTimeLink,
  { kind, donePath }: { kind: LinkKind; donePath: string },
): Promise<Answer> => {
  const { ports, form, texts, language } = view;
  const t = texts.users;
  const asked = form.has('mail') && ports.staff.mail.isOn;
  if (asked && (await ports.staff.mail.sendLink(userId, kind, link, language)) === 'sent')
    return redirect(donePath, { tone: 'good', text: t.linkMailed(email) });
  return page({
    title: kind === 'reset' ? t.makeLink : t.invitedTitle(email),
    body: html`${asked && message({ tone: 'bad', text: t.linkNotMailed(email) })}
${secretOnce(view, {
  text: t.linkText,
  values: [{ id: 'link', label: t.linkOf(email), value: link.link }],
  done: { path: donePath, label: t.linkHanded },
})}
<p class="hint">${t.linkUntil} ${time(link.expires)}</p>`,
  });
};

/** The choice to mail a link, as it was made where the form comes back; nothing without a mail server. */
export const mailChoice = ({ ports, texts, form }: Pick<View, 'ports' | 'texts' | 'form'>): Html | false =>
  ports.staff.mail.isOn &&
  html`<label class="check"><input type="checkbox" name="mail"${(form.size === 0 || form.has('mail')) && html` checked`}>${texts.users.mailLink}</label>`;
