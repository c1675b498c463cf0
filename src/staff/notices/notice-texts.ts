/** The notices, in both languages. The same sentences go into mail and into the body for a webhook. */
import type { MailLanguage } from '../mail/mail-texts.ts';
import type { NoticeKind } from './notice.ts';

type NoticeText = {
  subjects: Readonly<Record<NoticeKind, string>>;
  texts: Readonly<Record<NoticeKind, string>>;
  /** Names of facts. */
  facts: Readonly<Record<string, string>>;
  /** Facts that are code words. `data` of a posted notice has the words themselves. */
  words: Readonly<Record<string, string>>;
  where: (origin: string) => string;
};

const en: NoticeText = {
  subjects: {
    endpoint_disabled: 'A webhook endpoint was disabled',
    key_ending: 'An API key ends within 7 days',
    credential_ending: 'A secret or certificate of an API client ends within 7 days',
    leak_reported: 'A credential was reported as leaked and ended',
    refusals: 'Unusually many requests are refused',
    audit_broken: 'The audit was changed',
  },
  texts: {
    endpoint_disabled:
      'Orderpass disabled a webhook endpoint, because its receiver is gone or has failed for too long.',
    key_ending: 'An API key ends soon. If it has no successor yet, create one; then exchange the key where it is used.',
    credential_ending:
      'The last secret or certificate of an API client ends soon. Add its successor before, so that the client can go on calling.',
    leak_reported:
      'The value of a credential was reported as leaked, so Orderpass ended it at once. Issue a new one, and find out where the value was published.',
    refusals: 'In one hour the gateway refused far more requests than in the hours before.',
    audit_broken: 'The verification found a chain of the audit that was changed or cut off.',
  },
  facts: {
    restaurant: 'Restaurant',
    endpoint: 'Endpoint',
    address: 'Address',
    reason: 'Reason',
    key: 'Key',
    ends: 'Ends',
    hour: 'Hour',
    refused: 'Refused',
    usual: 'Usual per hour',
    event: 'Event',
    at: 'At',
    client: 'API client',
    credential: 'Credential',
  },
  words: {
    gone: 'the receiver answered 410: it is gone for good',
    failing: 'its receiver failed for too long',
    'audit.broken': 'a chain of the audit was changed',
    'audit.rolled_back': 'a chain of the audit was cut off',
  },
  where: (origin) => `The panel shows more: ${origin}/panel
You chose this notice on your account page, where you can switch it off.`,
};

const it: NoticeText = {
  subjects: {
    endpoint_disabled: 'Un endpoint webhook è stato disabilitato',
    key_ending: 'Una chiave API scade entro 7 giorni',
    credential_ending: 'Un segreto o un certificato di un client API scade entro 7 giorni',
    leak_reported: 'Una credenziale è stata segnalata come trapelata e revocata',
    refusals: 'Richieste rifiutate insolitamente numerose',
    audit_broken: 'Il registro è stato alterato',
  },
  texts: {
    endpoint_disabled:
      'Orderpass ha disabilitato un endpoint webhook, perché il ricevitore non esiste più o dà errori da troppo tempo.',
    key_ending:
      'Una chiave API sta per scadere. Se non ce n’è già una nuova, creala; poi sostituisci quella vecchia dove viene usata.',
    credential_ending:
      'L’ultimo segreto o certificato di un client API sta per scadere. Aggiungi prima quello nuovo, così il client può continuare a fare richieste.',
    leak_reported:
      'Il valore di una credenziale è stato segnalato come trapelato e Orderpass l’ha revocata subito. Creane una nuova e scopri dove è stato pubblicato il valore.',
    refusals: 'In un’ora il gateway ha rifiutato molte più richieste che nelle ore precedenti.',
    audit_broken: 'La verifica ha trovato una catena del registro alterata o troncata.',
  },
  facts: {
    restaurant: 'Ristorante',
    endpoint: 'Endpoint',
    address: 'Indirizzo',
    reason: 'Motivo',
    key: 'Chiave',
    ends: 'Scade',
    hour: 'Ora',
    refused: 'Rifiutate',
    usual: 'Di solito, all’ora',
    event: 'Evento',
    at: 'Quando',
    client: 'Client API',
    credential: 'Credenziale',
  },
  words: {
    gone: 'il ricevitore ha risposto 410: non esiste più',
    failing: 'il ricevitore ha dato errori per troppo tempo',
    'audit.broken': 'una catena del registro è stata alterata',
    'audit.rolled_back': 'una catena del registro è stata troncata',
  },
  where: (origin) => `Altri dettagli nel pannello: ${origin}/panel
Hai scelto questo avviso nella pagina del tuo account, dove puoi disattivarlo.`,
};

const byLanguage: Readonly<Record<MailLanguage, NoticeText>> = { en, it };

export const noticeText = (
  language: MailLanguage,
  { kind, facts, origin }: { kind: NoticeKind; facts: Readonly<Record<string, string>>; origin: string },
): { subject: string; text: string } => {
  const t = byLanguage[language];
  const lines = Object.entries(facts).map(([name, value]) => `${t.facts[name] ?? name}: ${worded(t, name, value)}`);
  return { subject: t.subjects[kind], text: `${t.texts[kind]}\n\n${lines.join('\n')}\n\n${t.where(origin)}\n` };
};

const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}/;

/** An event is a code word and its position in the audit; a time is shown without its letters. */
const worded = ({ words }: NoticeText, name: string, value: string): string => {
  if (isTime.test(value)) return `${value.slice(0, 10)} ${value.slice(11, 16)} UTC`;
  const [word = '', ...rest] = name === 'event' ? value.split(' ') : [value];
  const found = name === 'event' || name === 'reason' ? words[word] : undefined;
  return found === undefined ? value : [found, ...rest.map((position) => `(${position})`)].join(' ');
};
