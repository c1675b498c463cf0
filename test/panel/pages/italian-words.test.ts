/** The Italian texts of the panel and of the mails use one word for one thing. */
import { expect, test } from 'vitest';
import { filesBelow, textOf } from '../../architecture/source.ts';

/** Another word for a thing that has one: what the texts must not say, and what they say instead. */
const banned: readonly (readonly [RegExp, string])[] = [
  [/(?<!orderpass |comando |esegui )\baudit\b(?! verify| who)/i, 'registro'],
  [/compromess|divulgat/i, 'trapelata'],
  [
    /(?<!emittente e )destinatar(?!io (delle asserzioni|si usa))/i,
    'ricevitore; destinatario only for the audience of a token',
  ],
  [/\brifiuti\b/i, 'richieste rifiutate'],
  [/registro fedeltà|punti fedeltà/i, 'registro punti, punti'],
  [/endpoint[^.]* disattivat|disattivat[^.]* endpoint/i, 'disabilitato'],
  [/client[^.]* disattivat[oi]\b definitivamente|per sempre/i, 'disabilitato definitivamente'],
  [/account[^.]* disabilitat/i, 'disattivato'],
  [/\bapplicazioni? sarebb/i, 'client o chiave'],
  [/registrare questo certificato|registra (un|il) certificato/i, 'aggiungi'],
  [/accesso al ricevitore/i, 'autenticazione presso il ricevitore'],
  [/[“”]/, '« »'],
  [/[a-z]'[a-zà-ù]/i, 'the apostrophe ’'],
];

/** Of the literals of a file only those with words of a sentence; names and keys in English stay. */
const literalsOf = (source: string): string[] =>
  [...source.matchAll(/'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g)]
    .map(([, quoted, template]) => quoted ?? template ?? '')
    .filter((text) => /[ ’]|^[A-Z]/.test(text));

const italian = (file: string): string => {
  const text = textOf(file);
  const from = text.indexOf('const it:');
  return from === -1 ? text : text.slice(from, text.indexOf('\n};', from));
};

test('A-551 the Italian texts have one word for one thing', () => {
  const files = [
    ...filesBelow('src/panel/texts/it', /\.ts$/),
    'src/staff/notices/notice-texts.ts',
    'src/staff/mail/mail-texts.ts',
  ];
  expect(files.length).toBeGreaterThan(20);
  const found = files.flatMap((file) =>
    literalsOf(italian(file)).flatMap((text) =>
      banned.filter(([word]) => word.test(text)).map(([, instead]) => `${file}: "${text}" → ${instead}`),
    ),
  );
  expect(found).toEqual([]);
});
