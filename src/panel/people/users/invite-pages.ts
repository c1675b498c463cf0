/** New accounts and their one-time links, which are mailed or shown once. */
import { Fault } from '#src/contract/fault.ts';
import { type Answer, notFound, page } from '../../page/answer.ts';
import { html } from '../../page/html.ts';
import type { Page, View } from '../../page/page.ts';
import { Refusal } from '../../page/refusal.ts';
import { findField } from '../../support/restaurant-choice.ts';
import { fieldNote } from '../../view/field.ts';
import { message } from '../../view/layout.ts';
import {
  type Access,
  type AccessProblems,
  accessFields,
  accessProblems,
  readAccess,
  savedRestaurants,
} from './access-form.ts';
import { mailChoice, sendOrShowLink } from './one-time-link.ts';
import { userPath, usersPath } from './paths.ts';

const roles = ['admin'] as const;
const newPath = `${usersPath}/new`;
const emailLengthMax = 254;

export const invitePages: readonly Page[] = [
  {
    method: 'GET',
    path: '/users/new',
    roles,
    handle: (view) => showForm(view, { email: '', role: undefined, restaurants: [] }),
  },
  { method: 'POST', path: '/users/new', roles, handle: (view) => invite(view) },
  { method: 'POST', path: '/users/:user/link', roles, handle: (view) => renewLink(view) },
];

type Given = Access & { email: string };

type Problems = AccessProblems & { email?: string };

const invite = async (view: View): Promise<Answer> => {
  const { ports, actor, form, texts } = view;
  const given: Given = { email: (form.get('email') ?? '').trim(), ...readAccess(view) };
  if (form.has(findField)) return showForm(view, given);
  const problems: Problems = {
    ...(isEmail(given.email) ? undefined : { email: texts.users.emailProblem }),
    ...accessProblems(given, texts),
  };
  if (given.role === undefined || Object.keys(problems).length > 0) return showForm(view, given, problems);
  const wanted = { email: given.email, role: given.role, restaurants: savedRestaurants(given) };
  const made = await createOrRefuse(() => ports.staff.users.create(actor, wanted));
  if (made === 'taken') return showForm(view, given, { email: texts.users.emailTaken });
  if (made === 'refused') return showForm(view, given, { email: texts.users.emailProblem });
  return sendOrShowLink(view, made, { kind: 'invitation', donePath: userPath(made.userId) });
};

/** Less than the HTML standard asks of an email; the feature `staff` asks for more (`refused`). */
const isEmail = (text: string): boolean => text.length <= emailLengthMax && /^[^\s@]+@[^\s@]+$/.test(text);

/** `taken`: there is such an account already. `refused`: it is no email. */
const createOrRefuse = async <T>(create: () => Promise<T>): Promise<T | 'taken' | 'refused'> => {
  try {
    return await create();
  } catch (error) {
    if (error instanceof Fault && error.code === 'CONFLICT') return 'taken';
    if (error instanceof Fault && error.code === 'VALIDATION_ERROR') return 'refused';
    throw error;
  }
};

const renewLink = async (view: View): Promise<Answer> => {
  const { ports, actor, params, texts } = view;
  const user = await ports.staff.users.find(params.user ?? '');
  if (user === undefined) return notFound();
  // The link sets a password without the current one, so an unattended browser would be enough to take the account.
  if (user.userId === view.user.id) throw new Refusal('CONFLICT', texts.users.notYourself);
  const made = await ports.staff.users.makeLink(actor, user.email);
  const kind = user.state !== 'invited' ? 'reset' : user.role === 'contact' ? 'contact' : 'invitation';
  return sendOrShowLink(view, made, { kind, donePath: userPath(made.userId) });
};

const showForm = async (view: View, given: Given, problems: Problems = {}): Promise<Answer> => {
  const { texts, csrfField } = view;
  const t = texts.users;
  const isRefused = Object.keys(problems).length > 0;
  const note = fieldNote('email', problems.email);
  return page({
    title: t.invite,
    status: isRefused ? 422 : 200,
    body: html`${isRefused && message({ tone: 'bad', text: texts.support.correct })}
<form method="post" action="${newPath}">${csrfField}
<label>${texts.signIn.email}<input type="email" name="email" required maxlength="${emailLengthMax}" autocomplete="off" value="${given.email}"${note.attributes}></label>
${note.line}
${await accessFields(view, given, problems)}
${mailChoice(view)}
<div class="row"><button class="primary">${t.invite}</button><a class="button" href="${usersPath}">${texts.frame.cancel}</a></div>
</form>`,
  });
};
