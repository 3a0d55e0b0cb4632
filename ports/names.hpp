// Names from files of strangers, on their way to a terminal or into a program in C. SPDX-License-Identifier: MIT
#ifndef HEED_PORTS_NAMES_HPP
#define HEED_PORTS_NAMES_HPP

#include <cstring>
#include <initializer_list>
#include <map>
#include <set>
#include <string>

namespace names {

// \ooo, which is the byte in a string of C.
inline std::string octal(char byte) {
  const unsigned char c = static_cast<unsigned char>(byte);
  return {'\\', static_cast<char>('0' + (c >> 6)), static_cast<char>('0' + (c >> 3) % 8),
          static_cast<char>('0' + c % 8)};
}

inline bool is_printed(char c) { return c >= ' ' && c <= '~'; }

// For a terminal: control characters and all beyond ASCII, which may turn the direction of writing, are \ooo.
inline std::string for_terminal(const std::string &text) {
  std::string safe;
  for (const char c : text) safe += is_printed(c) ? std::string(1, c) : octal(c);
  return safe;
}

// The same text both inside a comment and, as these very bytes, inside the quotes of a string of C.
inline std::string for_c(const std::string &name) {
  std::string safe;
  char before = 0;
  for (const char c : name) {
    const bool ends_comment = (before == '*' && c == '/') || (before == '/' && c == '*'),
               trigraph = before == '?' && c == '?';
    if (c == '"' || c == '\\')
      safe += '\\', safe += c;
    else if (!is_printed(c) || ends_comment || trigraph)
      safe += octal(c);
    else
      safe += c;
    before = c;
  }
  return safe;
}

// Words that mean something in C, C++ or their libraries, that compilers build in, or that they define.
inline bool is_taken_word(const std::string &word) {
  static const std::set<std::string> words = [] {
    const char *const list =
        "alignas alignof and and_eq asm atomic auto bitand bitor bool break case catch char class compl complex "
        "concept const "
        "consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do "
        "double "
        "dynamic_cast else enum explicit export extern false far final float for friend fortran goto huge i386 if "
        "imaginary import "
        "inline int interface interrupt linux long module mutable namespace near new noexcept noreturn not not_eq "
        "nullptr "
        "operator or or_eq override pascal private protected public register reinterpret_cast requires restrict return "
        "short "
        "signed sizeof small static static_assert static_cast struct switch template this thread_local throw true try "
        "typedef "
        "typeid typename typeof typeof_unqual union unix unsigned using virtual void volatile while xor xor_eq "
        "abort abs accept access acos acosh alarm alloca aligned_alloc arm asctime asin asinh assert at_quick_exit "
        "atan atan2 atanh "
        "atexit atof atoi atol atoll bcmp bcopy bind brk bsearch bzero cabs cacos cacosh calloc carg casin casinh "
        "catan catanh "
        "cbrt ccos ccosh ceil cexp chdir chmod cimag clearerr clock clog close connect conj copysign cos cosh cproj "
        "creal csin "
        "csinh csqrt ctan ctanh ctime difftime div drem dup environ erf erfc errno execl execv exit exp exp10 exp2 "
        "expm1 fabs "
        "fclose fdim feof ferror fflush ffs fgetc fgets floor fma fmax fmin fmod fopen fork fpclassify fprintf fputc "
        "fputs fread "
        "free freopen frexp fscanf fseek fsetpos ftell fwrite gamma getc getchar getenv gets getpid gmtime hypot ilogb "
        "index "
        "isalnum isalpha isascii isblank iscntrl isdigit isfinite isgraph isgreater isinf isless islower isnan "
        "isnormal isprint "
        "ispunct isspace isupper isxdigit j0 j1 jn kill labs ldexp ldiv lgamma link listen llabs llrint llround "
        "localtime log "
        "log10 log1p log2 logb longjmp lrint lround lseek main malloc memchr memcmp memcpy memmove memset mktime modf "
        "nan "
        "nearbyint nextafter nexttoward offsetof open pause perror pipe pow printf putc putchar puts qsort quick_exit "
        "raise rand "
        "read realloc remainder remove remquo rename rewind rindex rint round sbrk scalb scalbln scalbn scanf select "
        "send setbuf "
        "setjmp setvbuf signal signbit significand sin sincos sinh sleep snprintf socket sprintf sqrt srand sscanf "
        "stat stderr "
        "stdin stdout stpcpy stpncpy strcat strchr strcmp strcoll strcpy strcspn strdup strerror strftime strlen "
        "strncat strncmp "
        "strncpy strndup strpbrk strrchr strspn strstr strtod strtof strtok strtol strtoll strtoul strxfrm system tan "
        "tanh tgamma "
        "time times tmpfile tmpnam toascii tolower toupper trunc ungetc unlink va_arg va_copy va_end va_list va_start "
        "vprintf "
        "wait write y0 y1 yn NULL EOF BUFSIZ I SIG_DFL SIG_IGN EXIT_SUCCESS EXIT_FAILURE TRUE FALSE NAN INFINITY "
        "HUGE_VAL";
    std::set<std::string> all;
    for (const char *at = list; *at != 0;) {
      const size_t n = std::strcspn(at, " ");
      all.emplace(at, n);
      at += n + (at[n] == ' ');
    }
    return all;
  }();
  return words.count(word) != 0;
}

inline bool begins_with(const std::string &text, const char *begin) {
  return text.compare(0, std::strlen(begin), begin) == 0;
}
inline bool ends_with(const std::string &text, const char *end) {
  const size_t n = std::strlen(end);
  return text.size() >= n && text.compare(text.size() - n, n, end) == 0;
}

// What this library, its headers and C's atomics call their own.
inline bool has_taken_beginning(const std::string &word) {
  for (const char *const begin : {"_", "heed", "HEED", "atomic_", "ATOMIC_", "memory_order"}) {
    if (begins_with(word, begin)) return true;
  }
  return false;
}
// Types of stdint.h and the like, and their limits.
inline bool has_taken_end(const std::string &word) {
  for (const char *const end : {"_t", "_MAX", "_MIN", "_C", "_WIDTH"}) {
    if (ends_with(word, end)) return true;
  }
  return false;
}

// A name of C: letters, digits and single underscores, neither taken nor reserved.
inline std::string identifier(const std::string &name) {
  std::string text;
  for (const char c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const char next = is_letter || (c >= '0' && c <= '9') ? c : '_';
    if (next != '_' || text.empty() || text.back() != '_') text += next;
  }
  if (!text.empty() && text.back() == '_') text.pop_back();
  const bool is_number = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (text.empty() || text[0] == '_') text = "t" + text;
  if (is_number || is_taken_word(text) || has_taken_beginning(text)) text = "t_" + text;
  return has_taken_end(text) ? text + "_v" : text;
}

// Identifiers of one file, each once.
class identifiers {
 public:
  // The first free one of NAME, NAME_2, NAME_3 and so on, behind `prefix`; free are also those with one of `ends` behind it.
  std::string take(const std::string &prefix, const std::string &name, std::initializer_list<const char *> ends = {}) {
    const std::string base = identifier(prefix.empty() ? name : prefix + "_" + name);
    std::string free = base;
    for (int &i = n_taken_[base]; !is_free(free, ends); ++i) free = base + "_" + std::to_string(i + 2);
    used_.insert(free);
    for (const char *const end : ends) used_.insert(free + end);
    return free;
  }
  // One that somebody else has chosen.
  void reserve(const std::string &identifier) { used_.insert(identifier); }

 private:
  bool is_free(const std::string &name, std::initializer_list<const char *> ends) const {
    if (is_taken(name)) return false;
    for (const char *const end : ends) {
      if (is_taken(name + end)) return false;
    }
    return true;
  }
  bool is_taken(const std::string &name) const {
    return used_.count(name) != 0 || is_taken_word(name) || has_taken_beginning(name) || has_taken_end(name);
  }
  std::set<std::string> used_;
  std::map<std::string, int> n_taken_;
};

}  // namespace names

#endif
