export type Fields = Readonly<Record<string, string | undefined>>;

/**
 * The fields of an address or a form, each as one text: of a name that comes twice the last counts;
 * empty ones are left out.
 * @param given - as the server read it
 */
export function readFields(given: unknown): Fields {
  return Object.fromEntries(
    Object.entries(given ?? {}).flatMap(([name, value]) => {
      const last: unknown = Array.isArray(value) ? value.at(-1) : value;
      return typeof last === 'string' && last !== '' ? [[name, last]] : [];
    }),
  );
}
