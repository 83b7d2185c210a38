// Errors: BadInput becomes InvalidInputError(problem, row=..., column=...).
#include "bindings.hpp"
#include "kernel/base/errors.hpp"

namespace nb = nanobind;

static nb::object index_or_none(int64_t index) { return index < 0 ? nb::none() : nb::cast(index); }

static void translate(const std::exception_ptr& pointer, void*) {
    try {
        std::rethrow_exception(pointer);
    } catch (const mspp::BadInput& error) {
        const nb::object type = nb::module_::import_("meanshiftpp.errors").attr("InvalidInputError");
        const nb::object value = type(error.what(), nb::arg("row") = index_or_none(error.row),
                                      nb::arg("column") = index_or_none(error.column));
        PyErr_SetObject(type.ptr(), value.ptr());
    }
}

void bind_base(nb::module_&) { nb::register_exception_translator(translate); }
