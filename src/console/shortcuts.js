// Keys of the console: / leads to the search, ? opens the documents. Without scripts the browser
// has both as access keys.

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof Element && event.target.closest('input, select, textarea')) return;
  if (event.key === '/') {
    event.preventDefault();
    document.getElementById('search')?.focus();
  }
  if (event.key === '?') location.assign('/docs');
});
