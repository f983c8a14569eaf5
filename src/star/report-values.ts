/**
 * 1234567.5 becomes 1,234,567.50: no digit is lost, and what has a fraction has two places at
 * least.
 */
export function show(number: string | null): string {
  if (number === null) return '';
  const [whole = '', fraction] = number.split('.');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction.padEnd(2, '0')}`;
}

/** The same with two places at least, also of a whole amount: 0 becomes 0.00. */
export function showMoney(amount: string | null): string {
  return amount === null || amount.includes('.') ? show(amount) : `${show(amount)}.00`;
}
