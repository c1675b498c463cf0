/** The mails to accounts, in both languages of the panel. */

type LinkText = (given: { link: string; hours: number; origin: string }) => { subject: string; text: string };

/** `contact`: an invitation of a contact of an API client. */
export type LinkKind = 'invitation' | 'contact' | 'reset';

type MailTexts = Readonly<Record<LinkKind, LinkText>>;

const en: MailTexts = {
  invitation: ({ link, hours, origin }) => ({
    subject: 'Your Orderpass account',
    text: `An Orderpass account was created for you at ${origin}.

Open this link and choose a password. It works once, within ${hours} hours:

${link}

If you did not expect this, do nothing: without the link the account cannot be used.
`,
  }),
  contact: ({ link, hours, origin }) => ({
    subject: 'Your access to Orderpass',
    text: `You were invited at ${origin} to look after an API client of your company: its credentials, requests and webhooks.

Open this link and choose a password. It works once, within ${hours} hours:

${link}

If you did not expect this, do nothing: without the link the account cannot be used.
`,
  }),
  reset: ({ link, hours, origin }) => ({
    subject: 'Set a new Orderpass password',
    text: `A link to set a new password of your Orderpass account at ${origin} was asked for.

Open it and choose a password. It works once, within ${hours} hours:

${link}

If you did not ask for it, do nothing: your password stays as it is.
`,
  }),
};

const it: MailTexts = {
  invitation: ({ link, hours, origin }) => ({
    subject: 'Il tuo account Orderpass',
    text: `È stato creato per te un account Orderpass su ${origin}.

Apri questo link e scegli una password. Funziona una volta sola, entro ${hours} ore:

${link}

Se non te lo aspettavi, non fare nulla: senza il link l’account non può essere usato.
`,
  }),
  contact: ({ link, hours, origin }) => ({
    subject: 'Il tuo accesso a Orderpass',
    text: `Hai ricevuto un invito su ${origin} per gestire un client API della tua azienda: credenziali, richieste e webhook.

Apri questo link e scegli una password. Funziona una volta sola, entro ${hours} ore:

${link}

Se non te lo aspettavi, non fare nulla: senza il link l’account non può essere usato.
`,
  }),
  reset: ({ link, hours, origin }) => ({
    subject: 'Imposta una nuova password di Orderpass',
    text: `È stato chiesto un link per impostare una nuova password del tuo account Orderpass su ${origin}.

Aprilo e scegli una password. Funziona una volta sola, entro ${hours} ore:

${link}

Se non l’hai chiesto tu, non fare nulla: la tua password resta quella di prima.
`,
  }),
};

export type MailLanguage = 'en' | 'it';

export const mailTexts: Readonly<Record<MailLanguage, MailTexts>> = { en, it };

/** The first known language; English when there is none. */
export const mailLanguage = (...wished: readonly (string | undefined)[]): MailLanguage =>
  wished.find((one): one is MailLanguage => one === 'en' || one === 'it') ?? 'en';
